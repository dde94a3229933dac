#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "det/config/experiment_config.h"
#include "det/experiment/reconfigure.h"
#include "det/experiment/records.h"
#include "det/search/searcher.h"

namespace det::experiment {

/// How far a trial shall train, in total: what the search asked for, and the same in batches.
struct TrialOperation {
  std::int64_t length = 0;  ///< in the searcher's units
  std::int64_t batches = 0;
  bool completed = false;
  friend bool operator==(const TrialOperation&, const TrialOperation&) = default;
};
BOOST_DESCRIBE_STRUCT(TrialOperation, (), (length, batches, completed))

/// One trial as its experiment sees it: its row, and what the row does not show.
struct Trial {
  TrialRecord record;
  std::vector<TrialOperation> operations;          ///< ascending
  bool closed = false;                             ///< the search wants nothing more of it
  std::string allocation;                          ///< id of the live one; empty if none
  std::int64_t checkpoint_batches = 0;             ///< of record.latest_checkpoint
  std::optional<search::ExitedReason> early_exit;  ///< said by the trial itself, or its user
  std::int64_t lengthened_run = 0;  ///< the run that may have left before it heard that there is more to do
  std::set<std::string> log_policies{};    ///< those of the configuration that its log has matched
  std::set<std::string> blocked_agents{};  ///< on which it shall not run again
  std::string no_restart{};                ///< why it is not restarted when it fails; empty: it is
};
BOOST_DESCRIBE_STRUCT(Trial, (),
                      (record, operations, closed, allocation, checkpoint_batches, early_exit, lengthened_run,
                       log_policies, blocked_agents, no_restart))

/// The newest checkpoint of a trial that is there.
struct NewestCheckpoint {
  std::string uuid;
  std::int64_t batches = 0;
};
BOOST_DESCRIBE_STRUCT(NewestCheckpoint, (), (uuid, batches))

/// How an allocation ended.
struct Exit {
  enum class Kind {
    Clean,           ///< every process ended with status 0
    Failed,          ///< a process of the user's ended otherwise
    Infrastructure,  ///< the machine, the agent or the platform was lost: not the trial's fault
    Stopped,         ///< ended because we asked for it to be ended at once
  };
  Kind kind = Kind::Clean;
  bool preempted = false;     ///< it was asked to give its slots back
  bool acknowledged = false;  ///< and said that it does; a script that ends without that has finished
  std::string reason;         ///< in words
};

// What an experiment wants done.
/// Slots for this trial. Answered later by `allocation_ended`.
struct RequestAllocation {
  TrialId trial;
  std::string allocation_id;
};
/// Ask the trial to checkpoint and give its slots back; withdraw the request if it still waits.
struct PreemptAllocation {
  std::string allocation_id;
  bool may_stay = false;  ///< its processes may wait where they are, until somebody else needs the slots
};
/// The trial has nothing to do for now and everything is saved: anybody may have its slots.
struct IdleAllocation {
  std::string allocation_id;
};
/// There is something to do again for a trial whose processes may be waiting.
struct ResumeAllocation {
  std::string allocation_id;
};
/// End the trial's processes at once.
struct KillAllocation {
  std::string allocation_id;
};
/// The trial's operations changed, or it was closed.
struct OperationsChanged {
  TrialId trial;
};
/// A line for the trial's log.
struct Note {
  TrialId trial;
  std::string allocation_id;  ///< the run that it is about, which may be over
  std::string text;
};
/// The experiment is terminal.
struct Ended {};
using Effect = std::variant<RequestAllocation, PreemptAllocation, IdleAllocation, ResumeAllocation,
                            KillAllocation, OperationsChanged, Note, Ended>;

/// The life of one experiment, from its first trial to its last.
///
/// It decides and never acts: each call changes the state and leaves effects,
/// records to be remembered and nothing else behind. So it is driven alike by
/// a test, by the simulator and by the master.
///
/// Repetition: every report may come twice or late; the second changes nothing.
///
/// Threads: not safe; one strand.
class Experiment {
 public:
  /// Time, and the ids that the experiment may take for new trials.
  struct Context {
    Time now;
    std::int64_t& next_trial_id;
  };

  /// `record`: id, names, owner, times; its state is set here. `config` must be what `record.config` holds.
  static Result<Experiment> create(ExperimentRecord record, config::ExperimentConfig config);
  static Result<Experiment> restore(const json::value& snapshot);
  json::value snapshot() const;
  /// What `extend`, `go_on` and `go_on_searching` need of an experiment that is over; none: they can do
  /// nothing with it.
  std::optional<json::value> at_end() const;
  /// Makes a completed experiment active again, with a larger search. `at_end`: as it was then. Trials that
  /// are over stay over, and are not among its trials any more; new ones come.
  static Result<Experiment> extend(ExperimentRecord record, const json::value& at_end,
                                   const Reconfiguration& change, Context context);
  /// Makes a finished experiment active again, whose search continues where it stopped: trials that were
  /// stopped with it go on from their newest checkpoints, those in `checkpoints`, and so do those that failed
  /// or were killed, as far as the search can have them back. FailedPrecondition: there is nothing to go on
  /// with.
  static Result<Experiment> go_on_searching(ExperimentRecord record, const json::value& at_end,
                                            const std::map<TrialId, NewestCheckpoint>& checkpoints,
                                            Context context);
  /// Makes a finished experiment of one trial active again, with another configuration: `record.config`. The
  /// trial, as its row is, goes on from its newest checkpoint, of `checkpoint_batches`. `done`: what
  /// `completed_operations` was at its end. FailedPrecondition: it was trained as far as the configuration
  /// says.
  static Result<Experiment> go_on(ExperimentRecord record, TrialRecord trial, std::int64_t checkpoint_batches,
                                  std::vector<TrialOperation> done, Context context);
  std::vector<TrialOperation> completed_operations() const;  ///< of its only trial

  /// First call, once: asks the search for its first trials.
  void start(bool activate, Context context);

  // Commands of users; wrong ones are refused with FailedPrecondition and change nothing.
  Result<void> activate(Context context);
  Result<void> pause(Context context);
  Result<void> cancel(Context context);
  Result<void> kill(Context context);
  Result<void> kill_trial(TrialId trial, Context context);
  /// What somebody outside answers to the search's event, where searcher.name is custom; all of it or
  /// nothing. NotFound: no such event waits, maybe since it was answered.
  Result<void> answer_search(std::int64_t event_id, const std::vector<search::SearchWish>& wishes,
                             Context context);
  /// What waits for such an answer; nullptr where the search decides by itself.
  const std::deque<search::SearchEvent>* search_events() const { return searcher_.events(); }
  /// Changes the configuration from here on; what runs is not disturbed, and more trials or longer ones begin
  /// at once. Of a finished experiment only what says which checkpoints stay: see `extend`. InvalidArgument
  /// where the configuration's rules say no, FailedPrecondition where the search cannot be changed so.
  Result<void> reconfigure(const Reconfiguration& change, Context context);

  /// Whether the search judges a trial by each validation that it reports, and stops it when it has lost: so
  /// with `max_time`, where a script decides itself how long it trains (searchers.md §11).
  bool hears_validations() const;

  // Reports of the trial's live allocation.
  Result<void> operation_completed(TrialId trial, std::int64_t batches, double metric, Context context);
  void progressed(TrialId trial, std::int64_t batches, const std::string& runner_state);
  /// `time`: see `hears_validations`; how far the trial is, in what `searcher.max_time` counts.
  void validated(TrialId trial, std::int64_t batches, double metric, std::optional<double> time,
                 Context context);
  void checkpointed(TrialId trial, const std::string& uuid, std::int64_t batches);
  void exiting_early(TrialId trial, search::ExitedReason reason, const std::string& message = {});
  /// A line of its log is one that `log_policies` look for: for `cancel_retries` a failure of the trial is
  /// its end, for `exclude_node` the agent does not run it again. What a policy has done it does not do
  /// again.
  void log_policy_matched(TrialId trial, const std::string& policy, const std::string& action,
                          const std::string& agent, const std::string& line);
  void allocation_ended(TrialId trial, const Exit& exit, Context context);

  const ExperimentRecord& record() const { return record_; }
  ExperimentRecord& mutable_record() { return record_; }  ///< for name, labels, notes …: what decides nothing
  const config::ExperimentConfig& config() const { return config_; }
  const std::map<TrialId, Trial>& trials() const { return trials_; }
  const Trial* trial(TrialId id) const;
  bool finished() const { return is_terminal(record_.state); }

  /// Effects since the last call, in order.
  std::vector<Effect> take_effects();
  /// Trials whose record changed since the last call.
  std::set<TrialId> take_changed_trials();

 private:
  Experiment(ExperimentRecord record, config::ExperimentConfig config, search::Searcher searcher);
  Result<void> refuse(const char* verb) const;
  Trial* find(TrialId id);
  void perform(const search::Operations& operations, Context context);
  void create_trial(const search::Create& create, Context context);
  Trial& by_request(const search::RequestId& request);
  void want_slots(Trial& trial);
  void rest_if_idle(const Trial& trial);
  void give_back_all();
  void stop(State stopping, Context context);
  State stopped_state() const;
  void failed(Trial& trial, const std::string& allocation_id, const Exit& exit, Context context);
  void stop_trial(Trial& trial, Context context);
  void exit_early(Trial& trial, search::ExitedReason reason, State state, Context context);
  void end_trial(Trial& trial, State state, Context context);
  void end_if_done(Time now);
  /// Whether the entry point is a command: lengths are then in the script's own unit.
  bool runs_script() const;
  void complete_until(Trial& trial, double time);

  ExperimentRecord record_;
  config::ExperimentConfig config_;
  search::Searcher searcher_;
  std::map<TrialId, Trial> trials_;
  std::map<search::RequestId, TrialId> requests_;
  /// Trials that are over, for when the search creates them again; under "", whatever it creates next.
  std::map<search::RequestId, Trial> again_;
  std::vector<Trial> left_;       ///< that ended before they were done, in an earlier life of the experiment
  search::Operations postponed_;  ///< about trials that a stop kept from being created
  std::vector<Effect> effects_;
  std::set<TrialId> changed_;
};

/// Whether a match of the log policy is news of the trial: of each policy the first, of `exclude_node` the
/// first of each agent.
bool would_matter(const Trial& trial, const std::string& policy, const std::string& action,
                  const std::string& agent);

}  // namespace det::experiment
