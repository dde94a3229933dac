#pragma once

#include <deque>
#include <map>
#include <set>

#include "det/search/search_method.h"

namespace det::search {

/// What single, random and grid have in common: every trial trains the whole
/// length, no result changes what comes next, and a trial that closes makes room
/// for the next one (searchers.md §5, the rules of the last release of each
/// generation).
///
/// Holds state for open trials only.
class WholeTrials : public SearchMethod {
 public:
  struct Options {
    std::string name;
    std::int64_t trials = 1;
    std::int64_t concurrent_max = 0;  ///< 0: no limit
    /// What each trial trains; 0: the trial itself decides when it is done.
    std::int64_t length = 0;
    /// Progress counts whole steps of this many units, and the validation as one
    /// more (the rule of `max_steps`); 0: every unit counts.
    std::int64_t step = 0;
    bool replaces_invalid = false;  ///< a trial with invalid hyperparameters does not count
  };
  explicit WholeTrials(Options options) : options_(std::move(options)) {}

  Operations start(Random& random) override;
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason, Random& random) override;
  Operations trial_closed(const RequestId& trial, Random& random) override;
  void trial_progressed(const RequestId& trial, double units) override;
  double progress() const override;
  Operations resized(Random& random) override;
  Operations run_again(std::vector<Again>& trials, Random& random) override;
  json::value snapshot() const override;
  Result<void> restore(const json::value& snapshot) override;

 private:
  /// Of the trial that comes `index`-th, counted from 0.
  virtual json::object hyperparameters(std::int64_t index, Random& random) const = 0;
  /// A trial that comes from this search was made.
  virtual void created(const Create& create);
  bool has_room() const;
  void create_next(Operations& operations, Random& random);
  Create next(Random& random);
  std::int64_t parts_done(double units) const;
  void forget_progress(const RequestId& trial);

  struct State {
    std::string search_method_type;
    std::int64_t created_trials = 0;     ///< without those that are to be replaced
    std::int64_t pending_trials = 0;     ///< open now
    std::int64_t completed_trials = 0;   ///< closed, and counted
    std::set<RequestId> invalid_trials;  ///< open, exited with invalid hyperparameters, to be replaced
    std::map<RequestId, std::int64_t> trial_parts;  ///< of open trials: how much is done, see kPartsPerTrial
    std::deque<Create> again_trials;  ///< closed before they were done; they come before new ones
    BOOST_DESCRIBE_CLASS(State, (),
                         (search_method_type, created_trials, pending_trials, completed_trials,
                          invalid_trials, trial_parts, again_trials),
                         (), ())
  };
  Options options_;
  State state_;
  std::int64_t parts_ = 0;  ///< the sum of state_.trial_parts
};

/// What `config` says of length and concurrency, for its generation; refuses what cannot be searched.
Result<WholeTrials::Options> whole_trials_options(const config::ExperimentConfig& config);

Result<std::unique_ptr<SearchMethod>> make_single(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_random(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_tpe(const config::ExperimentConfig& config);
Result<std::unique_ptr<SearchMethod>> make_grid(const config::ExperimentConfig& config);

}  // namespace det::search
