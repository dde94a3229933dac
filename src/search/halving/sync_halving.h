#pragma once

#include <map>

#include "det/search/halving/ranking.h"
#include "det/search/halving/rungs.h"

namespace det::search {

/// Synchronous successive halving (searchers.md §6): every rung is given a number of trials at the start
/// and promotes its best. A trial goes on as soon as nobody who is still to come can take its place.
class SyncHalving final : public SearchMethod {
 public:
  struct Rung {
    std::int64_t length = 1;   ///< total after which its trials validate
    std::int64_t start = 1;    ///< trials that come into it
    std::int64_t promote = 0;  ///< of those, how many go to the next one
    friend bool operator==(const Rung&, const Rung&) = default;
    BOOST_DESCRIBE_CLASS(Rung, (), (length, start, promote), (), ())
  };
  struct Options {
    std::vector<Rung> rungs;  ///< see `resized`
    std::int64_t step = 1;    ///< units of one unit of the lengths: with `max_steps` those count steps
    bool steps = false;       ///< progress counts each validation as one step more
  };
  SyncHalving(Options options, const config::ExperimentConfig& config);

  Operations start(Random& random) override;
  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                  Random& random) override;
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) override;
  Operations trial_closed(const RequestId& trial, Random& random) override;
  void trial_progressed(const RequestId& trial, double units) override;
  double progress() const override;
  /// The rungs were laid out when the search began, and stay; a longer maximum moves the top one up.
  Operations resized(Random& random) override;
  json::value snapshot() const override;
  Result<void> restore(const json::value& snapshot) override;

 private:
  struct Trial {
    std::size_t rung = 0;
    std::int64_t length = 0;  ///< total that it was last asked for
    double units = 0;         ///< trained
    bool training = true;
    bool exited = false;
    bool closing = false;
    BOOST_DESCRIBE_CLASS(Trial, (), (rung, length, units, training, exited, closing), (), ())
  };
  struct Saved;

  void close(const RequestId& trial, Operations& operations);
  void train(const RequestId& trial, Trial& state, std::int64_t length, Operations& operations);
  void result(RequestId trial, std::size_t rung, double metric, Operations& operations);
  void trained(Trial& state, double units);

  void lay(std::vector<Rung> rungs);

  const Options options_;
  const config::Hyperparameters hyperparameters_;
  const config::Generation generation_;

  std::vector<Rung> rungs_;
  double expected_ = 0;  ///< units of the whole search
  std::vector<Ranking> rankings_;
  std::map<RequestId, Trial> trials_;
  double done_ = 0;  ///< units trained
  std::int64_t closed_ = 0;
};

/// The rungs of a search with a budget (`sync_halving`, `adaptive`). `steps`: lengths must rise from rung to
/// rung.
std::vector<SyncHalving::Rung> rungs_of_budget(std::int64_t longest, std::int64_t budget, double divisor,
                                               int rungs, bool steps);
/// The rungs of one bracket of `adaptive_simple`.
std::vector<SyncHalving::Rung> rungs_of_trials(std::int64_t longest, std::int64_t trials, double divisor,
                                               int rungs, bool steps);

}  // namespace det::search
