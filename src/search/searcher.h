#pragma once

#include <algorithm>
#include <optional>

#include "det/search/methods/custom.h"
#include "det/search/trial_map.h"

namespace det::search {

/// A search method with its stream and the bookkeeping that all methods share
/// (searchers.md §4.2): orients the metric, ignores what is told twice, keeps
/// progress, and says when the search is over.
///
/// Whatever it is told about a trial that it did not ask for or that is closed
/// changes nothing, so a caller may tell again what it is not sure to have told.
/// A closed trial is forgotten: memory and snapshot grow with the open trials only.
///
/// Threads: not safe.
class Searcher {
 public:
  static Result<Searcher> make(const config::ExperimentConfig& config);
  static Result<Searcher> restore(const config::ExperimentConfig& config, const json::value& snapshot);

  Operations start();
  Operations trial_created(const RequestId& trial);
  /// `metric` as the user reported it; NaN counts as the worst. Told twice for the same
  /// length, or for a length that the search did not ask for: no operations.
  Operations validation_completed(const RequestId& trial, double metric, std::int64_t length);
  Operations trial_exited_early(const RequestId& trial, ExitedReason reason);
  Operations trial_closed(const RequestId& trial);

  // For a search that somebody outside drives; of others there are no events, and `answer` is refused.
  const std::deque<SearchEvent>* events() const;
  void inactive(const std::string& state);
  /// FailedPrecondition: the search decides by itself. NotFound: the event is not in the queue.
  Result<void> awaits(std::int64_t event_id) const;
  /// Takes the events up to `event_id` out of the queue, and does what is wished; what is about a trial that
  /// is over meanwhile is left out. InvalidArgument, NotFound, FailedPrecondition: nothing is changed.
  Result<Operations> answer(std::int64_t event_id, const std::vector<SearchWish>& wishes);

  /// Goes on with a configuration of other sizes: more trials, longer ones, another number at a time. What is
  /// open is not disturbed. A search that was over begins anew; FailedPrecondition where it has nothing to
  /// do.
  Result<Operations> reconfigure(const config::ExperimentConfig& config);

  /// Trials that ended early go on, see SearchMethod::run_again; those left in `trials` do not. A search that
  /// was over goes on with them.
  Operations run_again(std::vector<Again>& trials);
  bool is_open(const RequestId& trial) const { return book_.open.contains(trial); }

  void set_trial_progress(const RequestId& trial, double units);
  double progress() const { return book_.progress; }  ///< 0 to 1, never less than before
  json::value snapshot() const;

  std::int64_t trials_requested() const { return book_.trials_requested; }
  std::int64_t trials_closed() const { return book_.trials_closed; }

 private:
  Searcher(const config::ExperimentConfig& config, std::unique_ptr<SearchMethod> method);

  struct Open {
    std::vector<std::int64_t> asked;  ///< lengths of the ValidateAfter that are not completed
    std::int64_t validated = 0;       ///< the greatest length told
    std::optional<ExitedReason> exit;
    bool created = false;
    bool closing = false;  ///< the search wants nothing more of it
    BOOST_DESCRIBE_CLASS(Open, (), (created, exit, asked, validated, closing), (), ())
    std::int64_t reach() const { return asked.empty() ? validated : std::max(validated, asked.back()); }
  };
  struct Bookkeeping {
    bool started = false;
    bool shutdown = false;
    std::int64_t trials_requested = 0;
    std::int64_t trials_closed = 0;
    std::int64_t failures = 0;  ///< trials that exited with Errored
    std::int64_t cancels = 0;   ///< trials that exited with UserCanceled
    double progress = 0;
    TrialMap<Open> open;
    BOOST_DESCRIBE_CLASS(Bookkeeping, (),
                         (started, shutdown, trials_requested, trials_closed, failures, cancels, progress,
                          open),
                         (), ())
  };
  Result<void> check(const std::vector<SearchWish>& wishes) const;
  Open* find_running(const RequestId& trial);
  Operations recorded(Operations operations);

  std::unique_ptr<SearchMethod> method_;
  Random random_;
  bool smaller_is_better_ = true;
  bool hears_every_validation_ = false;  ///< with `max_time` trials validate when they like
  Bookkeeping book_;
};

}  // namespace det::search
