#pragma once

#include <map>
#include <optional>

#include "det/search/trial_map.h"

namespace det::search {

/// A search whose decisions do not depend on who is faster: it hears of results only when everybody who
/// trains has reported, and then in the order in which the trials were created. So the same seed gives the
/// same search, whatever the machines and their faults do; the price is that slots wait for the slowest.
class Barrier final : public SearchMethod {
 public:
  explicit Barrier(std::unique_ptr<SearchMethod> search) : search_(std::move(search)) {}

  Operations start(Random& random) override;
  Operations trial_created(const RequestId& trial, Random& random) override;
  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                  Random& random) override;
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) override;
  Operations trial_closed(const RequestId& trial, Random& random) override;
  void trial_progressed(const RequestId& trial, double units) override;
  double progress() const override { return search_->progress(); }
  Operations resized(Random& random) override;
  Operations run_again(std::vector<Again>& trials, Random& random) override;
  json::value snapshot() const override;
  Result<void> restore(const json::value& snapshot) override;

 private:
  /// Of a trial that is not closed, or whose end the search has not heard of.
  struct Trial {
    std::int64_t number = 0;           ///< in the order of creation
    std::int64_t asked = 0;            ///< the length that it trains towards; 0: it waits
    std::optional<double> metric;      ///< reported for that
    std::optional<ExitedReason> exit;  ///< not heard yet
    bool closed = false;
    BOOST_DESCRIBE_CLASS(Trial, (), (number, asked, metric, exit, closed), (), ())
  };
  struct Saved;

  static bool is_reported(const Trial& trial) { return trial.metric || trial.exit; }
  Operations noted(Operations operations);
  Operations release(Random& random);

  std::unique_ptr<SearchMethod> search_;
  TrialMap<Trial> trials_;
  std::map<std::int64_t, RequestId> reported_;  // derived: of whom the search is yet to hear, by their number
  std::int64_t next_ = 0;
  std::int64_t training_ = 0;  // trials that have not reported what they were asked for
};

}  // namespace det::search
