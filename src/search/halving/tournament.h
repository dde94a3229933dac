#pragma once

#include "det/search/trial_map.h"

namespace det::search {

/// Several searches side by side, on one stream (searchers.md §4.3): what the adaptive methods are made of.
/// A trial belongs to the search that created it, and only that one hears of it.
class Tournament final : public SearchMethod {
 public:
  explicit Tournament(std::vector<std::unique_ptr<SearchMethod>> searches);

  Operations start(Random& random) override;
  Operations trial_created(const RequestId& trial, Random& random) override;
  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                  Random& random) override;
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) override;
  Operations trial_closed(const RequestId& trial, Random& random) override;
  void trial_progressed(const RequestId& trial, double units) override;
  double progress() const override;
  Operations resized(Random& random) override;
  Operations run_again(std::vector<Again>& trials, Random& random) override;
  json::value snapshot() const override;
  Result<void> restore(const json::value& snapshot) override;

 private:
  Operations owned(std::size_t search, Operations operations);
  std::size_t owner(const RequestId& trial) const { return table_.at(trial); }

  std::vector<std::unique_ptr<SearchMethod>> searches_;
  TrialMap<std::uint32_t> table_;  ///< of trials that are not closed
};

}  // namespace det::search
