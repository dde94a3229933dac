#include "det/search/methods/whole_trials.h"
#include "det/search/sampling/sampling.h"

namespace det::search {

namespace {

// 2^32 trials are what progress can count; more than anyone's cluster finishes.
constexpr std::int64_t kTrialsMax = (std::int64_t{1} << 32) - 1;

/// Independent samples of the hyperparameters.
class RandomSearch final : public WholeTrials {
 public:
  RandomSearch(Options options, const config::ExperimentConfig& config)
      : WholeTrials(std::move(options)),
        hyperparameters_(config.hyperparameters),
        generation_(config.generation) {}

 private:
  json::object hyperparameters(std::int64_t, Random& random) const override {
    return sample(hyperparameters_, generation_, random);
  }

  config::Hyperparameters hyperparameters_;
  config::Generation generation_;
};

}  // namespace

/// `max_trials` samples. One that its trial calls invalid is replaced by another once it has closed.
Result<std::unique_ptr<SearchMethod>> make_random(const config::ExperimentConfig& config) {
  DET_TRY(auto options, whole_trials_options(config));
  options.trials = config.searcher.max_trials;
  options.replaces_invalid = true;
  if (options.trials < 1 || options.trials > kTrialsMax)
    return invalid_argument("searcher.max_trials is {}; it must be from 1 to {}", options.trials, kTrialsMax);
  return std::make_unique<RandomSearch>(std::move(options), config);
}

/// One sample, which is not replaced.
Result<std::unique_ptr<SearchMethod>> make_single(const config::ExperimentConfig& config) {
  DET_TRY(auto options, whole_trials_options(config));
  return std::make_unique<RandomSearch>(std::move(options), config);
}

}  // namespace det::search
