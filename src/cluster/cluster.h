#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "det/cluster/effects.h"
#include "det/cluster/events.h"
#include "det/cluster/job.h"
#include "det/cluster/planner.h"
#include "det/cluster/tracked.h"
#include "det/scheduler/scheduler.h"

namespace det::cluster {

/// A machine that runs, or ran, an agent.
struct Agent {
  std::string id, resource_pool, hostname, version;
  std::vector<api::SlotReport> slots;
  std::set<int> disabled_slots;
  bool enabled = true;
  bool draining = false;
  bool connected = true;  ///< joined, and not lost since
  bool silent = false;    ///< has not called as an agent that lives does: takes nothing new
  Time registered;
  std::string label{};                 ///< runs only what asks for it
  scheduler::Attributes attributes{};  ///< runs what asks for some of them
  std::string allotment{};             ///< of a pilot: the machines that it is one of
  bool leaving = false;                ///< its machine goes soon: takes nothing new
  Time last_used{};                    ///< when something last ended there, or it joined
};
BOOST_DESCRIBE_STRUCT(Agent, (),
                      (id, resource_pool, hostname, version, slots, disabled_slots, enabled, draining,
                       connected, silent, registered, label, attributes, allotment, leaving, last_used))

/// One run of a task on slots, wanted or granted. Gone from memory once it ended.
struct Allocation {
  experiment::AllocationRecord record;
  int slots = 1;
  std::set<std::string> agents_running, agents_ended;
  bool preempt = false;          ///< asked to give its slots back
  std::int64_t preemptions = 0;  ///< how often it was
  bool may_stay = false;         ///< … and its processes may wait where they are, once everything is saved
  bool resume = false;           ///< it is wanted again, and has not said yet that it waits
  bool for_others = false;       ///< … by the scheduler, for requests that need them
  bool acknowledged = false;     ///< it said that it does
  bool kill = false;             ///< to be ended at once
  bool lost = false;             ///< a machine that it ran on is lost
  std::string failure;           ///< of the rank that failed first, in words
  std::optional<Time> preempt_deadline;
  // Of a task that is no trial:
  std::optional<api::RankExit> exit{};
  bool heeds_preemption{};  ///< its process has asked whether it shall give way
  bool signaled{};          ///< the cluster has it ended by a signal, before any failure of its own
  /// Since when its processes only wait, with everything saved: who needs the slots gets them. To the
  /// scheduler they are free, also while the processes leave.
  std::optional<Time> idle_since{};
  /// The numbers of slots that it may get, ascending, where its trial can run on several; then `slots` is the
  /// fewest until it starts.
  std::vector<int> slot_counts{};
  std::optional<Time> keeps_slots_until{};  ///< until then it is not asked to start again on more or fewer

  bool of_trial() const { return static_cast<bool>(record.trial_id); }
  bool leaving() const { return kill || (preempt && !may_stay); }
  bool idle() const { return idle_since.has_value(); }
  /// Whether its share on the agent is in use.
  bool uses(const std::string& agent) const { return !idle() && !agents_ended.contains(agent); }
};
BOOST_DESCRIBE_STRUCT(Allocation, (),
                      (record, slots, agents_running, agents_ended, preempt, preemptions, may_stay, resume,
                       for_others, acknowledged, kill, lost, failure, preempt_deadline, exit,
                       heeds_preemption, signaled, idle_since, slot_counts, keeps_slots_until))

/// What a process that has given way and saved everything shall do.
enum class Wish {
  Wait,  ///< stay where it is
  GoOn,  ///< with its work, from where it is
  Leave,
};
BOOST_DESCRIBE_ENUM(Wish, Wait, GoOn, Leave)
/// `preemption`: the one that it has acknowledged, of Allocation::preemptions.
Wish wish_of(const Allocation& allocation, std::int64_t preemption);

/// What follows from an event. When `refused` holds something, nothing changed.
struct Outcome {
  std::optional<Error> refused;
  ExperimentId experiment;  ///< the one that was submitted or tracked
  std::vector<Effect> effects;
  TrialId trial{};  ///< the one that was tracked
};

/// Everything that the master decides: experiments, other tasks, who runs where, and who is told what.
///
/// `handle` is the only way in which it changes. It does no I/O and reads no
/// clock, so that events and their times are all there is: remembered in order
/// and handled again, they give the same cluster (I-9). The master and the
/// simulator drive the same class.
///
/// Experiments that are over are forgotten once their checkpoints are collected, tasks that are no trials at
/// once; their rows stay in the store.
///
/// Threads: not safe; one strand.
class Cluster {
 public:
  static Result<Cluster> restore(const json::value& snapshot);
  json::value snapshot() const;

  Outcome handle(const Event& event, Time now);

  /// Events that time alone brings about: call now and then and handle what it returns.
  std::vector<Event> due(Time now) const;

  std::int64_t epoch() const { return epoch_; }
  /// Those that are connected, and the newest kLostAgentsMax of those that are not, or that somebody
  /// disabled.
  const std::map<std::string, Agent>& agents() const { return agents_.all(); }
  static constexpr std::size_t kLostAgentsMax = 1'000;
  const std::map<std::string, Allocation>& allocations() const { return allocations_.all(); }
  const std::map<ExperimentId, experiment::Experiment>& experiments() const { return experiments_.all(); }

  const Allocation* allocation(const std::string& id) const;
  /// Tasks that are no trials and are not over.
  const std::map<std::string, task::Task>& tasks() const { return tasks_.all(); }
  const task::Task* task(const std::string& id) const;
  /// The task, if it is not over, and its descendants that are not, by id.
  std::vector<std::string> family_of(const std::string& task_id) const;
  const experiment::Experiment* experiment(ExperimentId id) const;
  const experiment::Trial* trial(TrialId id) const;
  /// Why the allocation waits, in words; empty when it does not.
  std::string waiting_reason(const std::string& allocation_id) const;
  /// Whether it waits and could not run even if nothing else did.
  bool can_never_run(const std::string& allocation_id) const;
  /// The allocation that is first in its line; empty if it is the first, or in none.
  std::string behind(const std::string& allocation_id) const { return planner_.behind(allocation_id); }
  /// Pools that agents ever joined or the configuration names, and "default".
  std::set<std::string> resource_pools() const;
  const PoolSettings& pool(const std::string& name) const;
  const Pools& pools() const { return pools_; }
  /// The pool of a new experiment: the default one for what it needs, where its configuration names none.
  std::string pool_for(const config::ExperimentConfig& config) const;
  std::string pool_of(const experiment::Experiment& experiment) const;
  int priority_of(const experiment::Experiment& experiment) const;
  int priority_of(const task::Task& task) const;
  // Of a job that is not over.
  std::string pool_of(const Job& job) const;
  int priority_of(const Job& job) const;
  UserId owner_of(const Job& job) const;
  std::string job_id_of(const Job& job) const;
  static Job job_of(const Allocation& allocation);
  /// Jobs of the pool that are not over, in the order of its queue.
  std::vector<Job> queue(const std::string& pool) const;
  /// Agents of a pool as the scheduler sees them, by id.
  const std::vector<scheduler::Agent>& scheduler_agents(const std::string& pool) const;
  /// What the schedulers are asked, and what they have said last. Derived, and so in no snapshot.
  const Planner& planner() const { return planner_; }

  /// Machines that engines are asked for or gave, by id.
  const std::map<std::string, elastic::Allotment>& allotments() const { return allotments_; }
  const elastic::Allotment* allotment(const std::string& id) const;
  /// All that the decision about the machines of a pool with a provider depends on.
  elastic::Pool elastic_pool(const PoolSettings& settings) const;
  /// Allotments that failed since the last one that worked; where failures are those of owners, of the one
  /// who had most.
  elastic::Failures failures(const std::string& pool) const;
  /// What a pool with a provider waits for, in words: "2 nodes of Slurm partition a100 (job 4711 pending:
  /// Priority)"; empty where no machine is on its way.
  /// `task`: those that are for it alone.
  std::string machines_awaited(const std::string& pool, const std::string& task = "") const;

  /// All that shall run on `agent`, without tokens. Pure: same state, same answer.
  std::vector<api::DesiredAllocation> desired(const std::string& agent) const;
  /// Whether the agent may forget the exit of this allocation.
  bool exit_is_known(const std::string& allocation_id, const std::string& agent) const;
  /// Whether the report is news, so that it must become an AgentJoined.
  bool joins(const std::string& agent, const api::SyncRequest& request) const;
  /// The allocations' news in an agent's report, as events, in order.
  std::vector<Event> news(const std::string& agent, const api::SyncRequest& request) const;

 private:
  struct Step;
  Outcome refuse(Error error) const;
  experiment::Experiment* live(ExperimentId id);
  Allocation* live_allocation(const std::string& id);

  Outcome on(const MasterStarted&, Step&);
  Outcome on(const ExperimentSubmitted&, Step&);
  Outcome on(const ExperimentCommanded&, Step&);
  Outcome on(const ExperimentPatched&, Step&);
  Outcome on(const ExperimentExtended&, Step&);
  Outcome on(const ExperimentContinued&, Step&);
  Outcome on(const SearchContinued&, Step&);
  Outcome on(const ExperimentTracked&, Step&);
  Outcome on(const TrialTracked&, Step&);
  Outcome on(const SearchAnswered&, Step&);
  Outcome on(const JobMoved&, Step&);
  Outcome on(const TrialKilled&, Step&);
  Outcome on(const CheckpointsCollected&, Step&);
  Outcome on(const AgentJoined&, Step&);
  Outcome on(const AgentSilent&, Step&);
  Outcome on(const AgentLost&, Step&);
  Outcome on(const AgentSet&, Step&);
  Outcome on(const AllocationStarted&, Step&);
  Outcome on(const RankFailed&, Step&);
  Outcome on(const AllocationExited&, Step&);
  Outcome on(const PreemptionExpired&, Step&);
  Outcome on(const IdleExpired&, Step&);
  Outcome on(const SlotsKept&, Step&);
  Outcome on(const OperationCompleted&, Step&);
  Outcome on(const TrialProgressed&, Step&);
  Outcome on(const ValidationReported&, Step&);
  Outcome on(const CheckpointReported&, Step&);
  Outcome on(const EarlyExitReported&, Step&);
  Outcome on(const LogPolicyMatched&, Step&);
  Outcome on(const PreemptionAcknowledged&, Step&);
  Outcome on(const PreemptionRequested&, Step&);
  Outcome on(const TaskSubmitted&, Step&);
  Outcome on(const TaskKilled&, Step&);
  Outcome on(const TaskPrioritySet&, Step&);
  Outcome on(const TaskReady&, Step&);
  Outcome on(const TaskIdled&, Step&);
  Outcome on(const TaskPaused&, Step&);
  Outcome on(const TaskUnpaused&, Step&);
  Outcome on(const PreemptionHeeded&, Step&);
  Outcome on(const AgentLeaving&, Step&);
  Outcome on(const AllotmentRequested&, Step&);
  Outcome on(const AllotmentReported&, Step&);
  Outcome on(const AllotmentReleased&, Step&);
  Outcome on(const AllotmentLeaving&, Step&);
  Outcome on(const AllotmentEnded&, Step&);
  Outcome on(const AllotmentClaimed&, Step&);

  void settle(ExperimentId id, Step& step);
  /// Carries out what the task wants and writes its row; forgets it when it is over.
  void settle(const std::string& task_id, task::Wish wish, Step& step);
  void stop_task(const std::string& task_id, std::string why, Step& step);
  /// Has it run again later, if it can, else ends it.
  void move_task(const std::string& task_id, std::string why, Step& step);
  void give_way(const std::string& allocation_id, Step& step);
  Result<const Allocation*> trial_that_reports(const std::string& allocation_id) const;
  Result<std::string> task_that_reports(const std::string& allocation_id) const;
  void request(experiment::Experiment& experiment, const experiment::RequestAllocation& wanted, Step& step);
  void preempt(const std::string& id, bool may_stay, Step& step);
  void idle(const std::string& id, Step& step);
  void resume(const std::string& id, Step& step);
  bool may_wait(const Allocation& allocation) const;
  Time idle_ends(const Allocation& allocation) const;
  void begin_idle(Allocation& allocation, Step& step);
  void end_idle(Allocation& allocation, Step& step);
  std::map<std::string, std::map<int, std::string>> waited_on() const;
  void carry_out(std::vector<scheduler::Placement> placements, const std::string& pool, Step& step);
  void kill(const std::string& id, Step& step);
  std::string why_it_gives_way(const Allocation& allocation) const;
  void end(Allocation& allocation, const experiment::Exit& exit, Step& step);
  void note_exit(Allocation& allocation, const api::RankExit& exit, Step& step);
  void end_if_all_ended(Allocation& allocation, Step& step);
  void place(Step& step);
  void place_pool(const std::string& pool, Step& step);
  void refresh();
  void refresh_jobs(std::set<std::string>& allocations);
  void refresh_allocation(const std::string& id);
  void refresh_agent(const std::string& id);
  scheduler::Request terms_of(const Job& job) const;
  void start(const scheduler::Placement& placement, Step& step);
  std::string pool_where(const Allocation& allocation) const;
  std::int64_t position_of(const Job& job) const;
  void set_position(const Job& job, std::int64_t position);
  Time submitted(const Job& job) const;
  bool in_queue(const Job& job) const;
  scheduler::Request request_of(const Allocation& allocation) const;
  void move_where_it_belongs(ExperimentId id, Step& step);
  void wake_agents(const Allocation& allocation, Step& step);
  void forget_lost_agents();
  void lose_agent(const std::string& id, const std::string& failure, Step& step);
  void clear_agent(const std::string& id, std::optional<int> slot, bool only_idle, const std::string& why,
                   Step& step);
  void agent_leaves(const std::string& id, const std::string& why, Step& step);
  void lose_agents_of(const std::string& allotment, const std::string& why, Step& step);
  std::vector<std::string> agents_of(const std::string& allotment);
  static std::string failure_key(const std::string& pool, const std::string& owner);
  elastic::Demand demand_of(const scheduler::Request& request, const PoolSettings& settings) const;
  void add_running(const PoolSettings& settings, elastic::Pool& pool) const;
  void due_of_pools(Time now, std::vector<Event>& events) const;
  bool could_fit_elastically(const std::string& allocation_id) const;

  std::int64_t epoch_ = 0;
  std::int64_t next_experiment_ = 1;
  std::int64_t next_trial_ = 1;
  Tracked<std::string, Agent> agents_;
  Tracked<std::string, Allocation> allocations_;
  Tracked<ExperimentId, experiment::Experiment> experiments_;
  Tracked<std::string, task::Task> tasks_;
  Planner planner_;                                // derived from those
  std::map<TrialId, ExperimentId> experiment_of_;  // derived from experiments_
  std::map<ExperimentId, std::string>
      written_;  // what PutExperiment last said, to say it no oftener than needed
  Pools pools_;
  std::map<ExperimentId, std::int64_t> positions_;  // of those that somebody moved
  std::int64_t next_allotment_ = 1;
  std::map<std::string, elastic::Allotment> allotments_;
  std::map<std::string, elastic::Failures> failures_;         // by pool, or by pool and owner
  std::map<std::string, std::vector<std::int64_t>> waits_{};  // by pool: of the newest allotments, in seconds
};

}  // namespace det::cluster
