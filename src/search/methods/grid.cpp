#include "det/search/methods/grid_points.h"
#include "det/search/methods/whole_trials.h"

namespace det::search {

namespace {

/// Every point of the grid once. With `max_steps` from the first point to the last;
/// since `max_length` from the last to the first. A point that its trial calls
/// invalid is not tried again.
class GridSearch final : public WholeTrials {
 public:
  GridSearch(Options options, GridPoints points, bool last_first)
      : WholeTrials(std::move(options)), points_(std::move(points)), last_first_(last_first) {}

 private:
  json::object hyperparameters(std::int64_t index, Random&) const override {
    return points_.at(last_first_ ? points_.size() - 1 - index : index);
  }

  GridPoints points_;
  bool last_first_;
};

}  // namespace

Result<std::unique_ptr<SearchMethod>> make_grid(const config::ExperimentConfig& config) {
  DET_TRY(auto options, whole_trials_options(config));
  DET_TRY(auto points, GridPoints::make(config.hyperparameters));
  options.trials = points.size();
  return std::make_unique<GridSearch>(std::move(options), std::move(points),
                                      config.generation != config::Generation::Steps);
}

}  // namespace det::search
