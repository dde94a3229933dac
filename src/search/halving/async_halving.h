#pragma once

#include <deque>

#include "det/search/halving/ranking.h"
#include "det/search/halving/rungs.h"
#include "det/search/trial_map.h"

namespace det::search {

/// Asynchronous successive halving, ASHA (Li et al., "A System for Massively Parallel Hyperparameter
/// Tuning", 2020; searchers.md §8 and §10): trials climb rungs of growing length; of those that have
/// validated in a rung one in `divisor` climbs to the next. Nobody waits for a rung to fill.
///
/// With promotion a trial waits in its rung, without slots, until it is among the best of it. With
/// `stop_once` each trial is judged as it validates: it goes on, or is closed for good.
class AsyncHalving final : public SearchMethod {
 public:
  struct Options {
    std::vector<std::int64_t> lengths;  ///< of each rung, totals, not falling; see `resized`
    double divisor = 4;
    std::int64_t trials = 1;
    std::int64_t concurrent_max = 0;  ///< 0: divisor^(rungs-1)
    bool stop_once = false;
  };
  AsyncHalving(Options options, const config::ExperimentConfig& config);

  Operations start(Random& random) override;
  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length,
                                  Random& random) override;
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) override;
  Operations trial_closed(const RequestId& trial, Random& random) override;
  double progress() const override;
  /// The rungs were laid out when the search began, and stay; a longer maximum moves the top one up.
  Operations resized(Random& random) override;
  Operations run_again(std::vector<Again>& trials, Random& random) override;
  json::value snapshot() const override;
  Result<void> restore(const json::value& snapshot) override;

 private:
  /// Of a trial that is not closed.
  struct Trial {
    std::uint32_t rung = 0;  ///< where it trains towards, or stands
    bool training = true;
    bool exited = false;
    bool closing = false;
    BOOST_DESCRIBE_CLASS(Trial, (), (rung, training, exited, closing), (), ())
  };
  struct Rung {
    std::int64_t length = 1;  ///< total after which its trials validate
    Ranking ranking;
    std::int64_t training = 0;  ///< trials on their way to its length
  };
  struct Saved;

  std::int64_t concurrent_max() const;
  std::int64_t training() const;
  std::size_t top() const { return rungs_.size() - 1; }
  Trial* alive(const Uuid& trial);
  bool has_room() const;
  void create(Operations& operations, Random& random);
  void create_again(Operations& operations);
  void create_if_wanted(Operations& operations, Random& random);
  void close(const Uuid& trial, Operations& operations);
  void climb(Trial& state, const Uuid& trial, Operations& operations);
  std::size_t arrived(Trial& state);
  void result(const Uuid& trial, Trial& state, double metric, Operations& operations, Random& random);
  bool promote(Uuid trial, std::size_t rung, double metric, Operations& operations);
  bool judge(const Uuid& trial, std::size_t rung, double metric, Operations& operations);
  void raise_top(Operations& operations);
  void forget_who_is_gone();
  std::size_t rung_of(const Again& again) const;
  TrialMap<bool> forget_ends(const std::vector<Again>& trials);
  void close_losers(Operations& operations);

  const Options options_;
  const config::Hyperparameters hyperparameters_;
  const config::Generation generation_;

  std::vector<Rung> rungs_;
  TrialMap<Trial> trials_;
  std::deque<Again> again_;  ///< they come before new ones
  std::int64_t created_ = 0;
  std::int64_t invalid_ = 0;
  std::int64_t completed_ = 0;
  std::size_t settled_ = 0;  ///< rungs, from the lowest, whose losers are closed
};

}  // namespace det::search
