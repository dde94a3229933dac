#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "det/agent/reconcile.h"
#include "det/base/random.h"
#include "det/cluster/cluster.h"
#include "det/cluster/liveness.h"
#include "det/trial/plan.h"

/// The whole platform in one process, on one thread, in virtual time, from one seed.
///
/// What decides is the production code: cluster::Cluster, agent::Reconciler,
/// trial::next_action. What acts is simulated: disk, network, processes, storage, clocks.
/// The invariants I-… are those of docs/reference/invariants.md.
namespace det::simulation {

inline constexpr std::int64_t kMillisecond = 1000;  ///< of virtual time

/// A protocol bug planted on purpose: a simulation is trusted only for what it can find.
enum class Mutant {
  None,
  AcknowledgeBeforeSync,
  NoEpochOrSequenceCheck,
  DeadTokenAccepted,
  CollectionIgnoresPins,
  RestartForgetsRunningWork,
  StartSaidOnce,
  DuplicateExitCounted,
  DuplicateMetricStored,
  CheckpointReportedBeforeUpload,
  SlotReusedBeforeLease,
  ShimDoesNotWatchLease,
  LeaseCountedFromReceipt,
  ResumeFromTheBeginning,
  WaitingForgets,
  LoopStateFromTheMaster,
  AgentForgetsWhatItStarted,
  AgentDeletesWhatItRemembers,
  SlotTimeCountedTwice,
  SearchEventsShownEarly,
  StartBeforeSync,
  OrphansKept,
  AllotmentEndIgnored,
};

/// Which kinds of misfortune a seed has, and how often they strike. Swarm: each seed draws a subset.
struct Faults {
  double drop = 0, duplicate = 0, late = 0;      ///< of a message
  double master_crashes = 0, agent_crashes = 0;  ///< a virtual minute
  double machine_losses = 0, process_crashes = 0;
  double partitions = 0, slow_syncs = 0;
};

struct Verdict {
  std::optional<std::string> violation;
  int faults = 0;
  int events = 0;
  std::uint64_t trace = 0;               ///< hash of everything that happened, in order
  std::vector<std::string> last_events;  ///< for the report of a failing seed
};

/// Plays one seed to its end. Deterministic: the same seed gives the same verdict.
Verdict simulate(std::uint64_t seed, Mutant mutant = Mutant::None);

// ---- inside ----------------------------------------------------------------

/// A broken invariant; ends the simulation.
struct Violation {
  std::string text;
};

struct MetricRow {
  std::uint64_t value = 0;
  std::int64_t run_id = 0;
  int copies = 0;
};
using MetricKey = std::tuple<TrialId, std::string, std::int64_t>;  // trial, group, batches

/// What is kept of a search that is complete.
struct KeptSearch {
  json::object config;
  json::value state;
};

/// What of the database matters here. Applied with a commit, lost with it.
struct Tables {
  std::map<MetricKey, MetricRow> metrics;
  std::map<std::string, experiment::CheckpointRecord> checkpoints;
  std::map<ExperimentId, experiment::ExperimentRecord> experiments;
  std::map<ExperimentId, KeptSearch> searches;
  std::map<TrialId, experiment::TrialRecord> trials;
  std::map<std::string, experiment::AllocationRecord> allocations;
  std::map<std::string, task::TaskRecord> tasks;
};
using Row = std::function<void(Tables&)>;

struct Commit {
  std::int64_t sequence = 0;  ///< of its event; 0 if it has none
  Time time;
  std::optional<cluster::Event> event;
  std::vector<Row> rows;
};

/// What a runner of a custom search has on its disk.
struct SearchState {
  search::SearchEvent last;                 ///< that it answered
  std::vector<search::SearchWish> pending;  ///< the answer
  std::int64_t created = 0, closed = 0;     ///< trials
};

/// The state of a trial's process that a checkpoint holds.
struct Saved {
  trial::LoopState loop;
  std::uint64_t weights = 0;
  bool complete = false;
};

enum class Answer { Good, Gone, Refused };
struct Reply {
  Answer answer = Answer::Good;
  std::vector<std::int64_t> lengths;  // operations
  bool closed = false;
  bool preempt = false;
  std::int64_t preemption = 0;  ///< which one
  bool wait = false;            ///< who was preempted may wait on
  ExperimentId experiment;
};
using Respond = std::function<void(Reply)>;

class World;

/// The shell of the master: what src/master/ledger/ledger.cpp and the routes do.
class SimMaster {
 public:
  explicit SimMaster(World& world) : world_(world) {}
  bool alive() const { return cluster_ != nullptr; }
  void start();
  void crash();
  const cluster::Cluster& cluster() const { return *cluster_; }

  void sync(const std::string& agent, const api::SyncRequest& request,
            std::function<void(api::SyncReply)> respond);
  void operations(const std::string& allocation, Respond respond);
  void preemption(const std::string& allocation, Respond respond);
  void wish(const std::string& allocation, std::int64_t preemption, Respond respond);
  void report_metrics(const std::string& allocation, const std::string& group, std::int64_t batches,
                      std::uint64_t value, Respond respond);
  void report(cluster::Event event, Respond respond);
  void submit(experiment::ExperimentRecord record, Respond respond);
  void command(cluster::Event event, Respond respond);
  void tick();
  void search_events(ExperimentId id, std::function<void(std::vector<search::SearchEvent>)> respond);

 private:
  Answer apply(cluster::Event event, std::vector<Row> also, ExperimentId* submitted = nullptr);
  void when_durable(std::function<void()> act);
  void sync_disk();
  std::string speaker(const std::string& allocation) const;

  World& world_;
  std::unique_ptr<cluster::Cluster> cluster_;
  std::unique_ptr<cluster::Liveness> liveness_;
  int incarnation_ = 0;
  std::int64_t sequence_ = 0;
  bool syncing_ = false;
  std::map<std::string, std::int64_t> versions_;
  std::map<std::string, std::pair<std::string, std::int64_t>> newest_;  // call of each agent: session, number
  std::set<std::string> told_;                                          // StartSaidOnce
  std::vector<std::pair<std::size_t, std::function<void()>>> waiting_;  // commits that must be durable first
};

/// One process of a trial. Rank 0 runs the loop; the others live and die with it.
struct Process {
  std::string agent, allocation;
  TrialId trial;
  int rank = 0, size = 1;
  std::vector<int> slots;
  std::string checkpoint;  ///< to resume from
  trial::LoopState loop;
  std::uint64_t weights = 0;
  std::int64_t seed = 0;
  trial::LoopConfig config;
  std::vector<std::int64_t> lengths;
  bool closed = false, preempt = false;
  std::int64_t preemption = 0;  ///< the one that it was told of last
  bool can_wait = false;        ///< it stays, where it may, when it has given way
  bool alive = true, loaded = false;
  bool lapsed = false;                                            ///< its shim ends it: the lease is over
  std::deque<std::pair<std::int64_t, std::uint64_t>> unreported;  ///< training reports on their way
  bool reporting = false;
  int checkpoints_made = 0;
  int number = 0;  ///< unique in the world
};

class SimAgent {
 public:
  SimAgent(World& world, std::string id, int slots, agent::OnDisconnect on_disconnect);
  void start();
  void crash();
  bool alive() const { return reconciler_ != nullptr; }
  const std::string& id() const { return id_; }
  void process_ended(const std::shared_ptr<Process>& process, int code, int signal);
  void lose_machine();
  /// The machine goes back to its engine.
  void leave_for_ever();
  /// Whether its tasks are sure to have ended when the master gives it up: its shims see to it without it.
  bool ends_with_its_lease() const { return lease_.has_value(); }
  std::map<std::pair<std::string, int>, std::shared_ptr<Process>>& processes() { return processes_; }
  bool gone() const { return gone_; }

 private:
  void send();
  void perform(const agent::Actions& actions);
  void remember();
  void write_memory();
  void remove(const std::string& id);
  void ship(const std::string& allocation);
  void tell_exit(const std::string& allocation, const api::RankExit& exit);
  void timer();
  void renew_lease();
  void watch_lease();

  World& world_;
  std::string id_;
  int slots_;
  agent::OnDisconnect on_disconnect_;
  std::unique_ptr<agent::Reconciler> reconciler_;
  agent::Memory memory_;                // on its disk
  std::optional<Time> lease_;           // there, too: until when the shims let tasks run; nothing: for ever
  std::vector<std::string> forgotten_;  // still on its disk until the memory is written next
  std::uint64_t remembered_ = 0, reported_ = 0;
  int incarnation_ = 0;
  std::int64_t calls_ = 0;
  bool gone_ = false;
  std::map<std::pair<std::string, int>, std::shared_ptr<Process>>
      processes_;                                            // (allocation, rank), alive or ended
  std::map<std::string, std::vector<api::RankExit>> ended_;  // exit.json files
};

/// Gives machines to the pool in some worlds: a simulated Slurm. It has chances of its own.
class Engine {
 public:
  Engine(World& world, std::uint32_t seed) : world_(world), random_(seed) {}
  void begin();
  const elastic::Limits& limits() const { return limits_; }
  void check() const;
  /// Whether nothing of it runs or is wanted.
  bool at_rest() const;
  /// What the agent is one of; empty: its machine is not of the engine.
  static std::string allotment_of(const std::string& agent);

 private:
  static constexpr std::string_view kPilot = "pilot";
  struct Job {
    std::int64_t id = 0;
    std::string allotment;
    int nodes = 1;
    bool twin = false;   ///< the same was granted twice
    bool never = false;  ///< while there are faults
    Time starts{};
    Time ends{};
    bool begun = false, cancelled = false, over = false;
    int unwanted = 0;  ///< rounds of the provisioner
    std::vector<std::string> agents{};
  };
  bool odds(double p);
  void live();
  void provide();
  void submit(const std::string& allotment);
  void check_tasks();
  void end(Job& job);

  World& world_;
  Random random_;
  elastic::Limits limits_;
  std::int64_t time_limit_ = 0;
  std::map<std::string, int> over_;  ///< rounds since the task of an allotment has ended
  std::map<std::int64_t, Job> jobs_;
  std::int64_t next_ = 1;
};

/// Everything, and the clock.
class World {
 public:
  World(std::uint64_t seed, Mutant mutant);
  Verdict run();

  // Time and chance.
  Time now{};
  Random random;
  void after(std::int64_t microseconds, std::function<void()> what);
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + random.below(high - low + 1); }
  bool chance(double p) { return random.unit() < p; }
  bool calm() const { return now >= faults_end; }  ///< no more faults from here on

  // The network between two hosts. The message may come late, twice, or not at all.
  void send(const std::string& from, const std::string& to, std::function<void()> deliver);
  /// Asks the master, again and again, until an answer came or the process is gone.
  void call(const std::shared_ptr<Process>& process, std::function<void(SimMaster&, Respond)> request,
            std::function<void(const Reply&)> then);

  // Trials.
  void start_process(const std::string& agent, const api::DesiredAllocation& allocation, int rank);
  void step(const std::shared_ptr<Process>& process);
  void end_process(const std::shared_ptr<Process>& process, int code, int signal);

  /// What the master's configuration says at its start; somebody may have edited it.
  cluster::Pools pools();

  void broken(const std::string& rule, const std::string& what) const;
  void note(std::string text);

  Mutant mutant;
  Faults faults;
  Time faults_end{};
  std::unique_ptr<SimMaster> master;
  std::map<std::string, std::unique_ptr<SimAgent>> agents;
  std::unique_ptr<Engine> engine;  ///< null: no machines come and go

  // What survives everything.
  std::vector<Commit> disk;  ///< written; the first `durable` of them are synced
  std::size_t durable = 0;
  Tables tables;  ///< of all that is written
  std::map<std::string, Saved> storage;

  // What the checks remember.
  std::set<MetricKey> acknowledged_metrics;
  std::set<std::string> acknowledged_checkpoints;
  std::set<ExperimentId> acknowledged_experiments;
  std::map<TrialId, int> real_failures;
  std::map<std::string, int> starts;  ///< of (allocation, rank)
  std::map<std::string, std::size_t>
      placed_by;                           ///< by allocation: the commit on the disk that gave it its slots
  std::map<std::string, int> task_starts;  ///< of tasks that are no trials, by their ids
  std::set<std::string> acknowledged_tasks;
  std::set<std::string> allocations_seen;
  int fault_count = 0;

 private:
  friend class SimMaster;
  void plan_faults();
  void plan_users();
  void plan_patches();
  void plan_extensions();
  void plan_continuations();
  void plan_queue_moves();
  void plan_tasks();
  void check_tasks();
  void run_task(const std::shared_ptr<Process>& process, const std::string& task);
  void run_searches();
  void answer_events(ExperimentId id, const std::vector<search::SearchEvent>& events);
  void check_search(ExperimentId id, const experiment::Experiment& experiment) const;
  void train(const std::shared_ptr<Process>& process, std::int64_t batches);
  void validate(const std::shared_ptr<Process>& process);
  void save(const std::shared_ptr<Process>& process);
  void report_next(const std::shared_ptr<Process>& process);
  void watch_preemption(const std::shared_ptr<Process>& process);
  void leave(const std::shared_ptr<Process>& process, bool preempted);
  void wait_where_it_is(const std::shared_ptr<Process>& process);
  void check_process_start(const Process& process);
  void check_master_start();
  void check_end();
  void check_slot_time();
  bool all_over() const;
  std::string state() const;

  struct Event {
    Time time;
    std::int64_t order;
    std::function<void()> what;
    bool operator>(const Event& other) const {
      return std::tie(time, order) > std::tie(other.time, other.order);
    }
  };
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::int64_t order_ = 0;
  int events_ = 0;
  int processes_started_ = 0;
  std::uint64_t trace_ = 14695981039346656037ull;
  std::deque<std::string> recent_;
  std::set<std::string> cut_off_;  ///< hosts without the network
  /// For a function that comes again and names itself: it is the world's, so that it does not keep itself.
  std::function<void()>* kept() { return &kept_.emplace_back(); }
  std::deque<std::function<void()>> kept_;  ///< their addresses stay
  int submissions_left_ = 0;
  std::map<ExperimentId, SearchState> searches_;  ///< what drives the custom ones
};

/// What training does to the weights, one batch; the value that is reported for them.
constexpr std::uint64_t mix(std::uint64_t weights, std::int64_t batch) {
  std::uint64_t x = weights ^ (static_cast<std::uint64_t>(batch) * 0x9e3779b97f4a7c15ull);
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
/// The weights of an undisturbed run.
std::uint64_t undisturbed(std::int64_t seed, std::int64_t batches);

}  // namespace det::simulation
