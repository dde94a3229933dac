#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/store/change.h"
#include "det/store/metrics/metric_queries.h"

namespace det::store {

struct Page {
  std::int64_t offset = 0;
  std::int64_t limit = 0;
  bool descending = false;
};  ///< limit 0: all

struct LogQuery {
  std::string task_id;
  std::int64_t after_id = 0;                             ///< only entries with a greater id
  std::optional<std::int64_t> before_id = std::nullopt;  ///< only entries with a smaller id
  std::int64_t limit = 0;                                ///< 0: all
  bool descending = false;
  std::vector<std::string> agent_ids, allocation_ids, container_ids, sources, stdtypes, levels;
  std::vector<int> rank_ids;
  std::optional<Time> before, after;
  std::string search;  ///< substring
};

/// How a list is ordered; ties by id, in the same direction.
enum class ExperimentSort {
  Id,
  Name,
  Description,
  State,
  StartTime,
  EndTime,
  Progress,
  Owner,
  ResourcePool,
  Archived,
  ForkedFrom,
  ProjectId,
  NumTrials,
  CheckpointCount,
  CheckpointSize,
  BestMetric,
  Searcher,
  Duration
};
enum class TrialSort { Id, State, StartTime, EndTime, Batches, Restarts, BestMetric };

/// One word of a search: part of the name, the description or a label (without regard to the case of ASCII
/// letters), or the number, or the name of one of these owners.
struct SearchWord {
  std::string text;
  std::optional<ExperimentId> id;
  std::vector<UserId> owners;
};
/// Which experiments to list; a condition left empty lets all through.
struct ExperimentQuery {
  std::vector<experiment::State> states;
  std::optional<bool> archived;
  std::string name, description;    ///< substrings, without regard to the case of ASCII letters
  std::vector<std::string> labels;  ///< all of them
  std::vector<UserId> owners;
  std::vector<SearchWord> words;  ///< each of them must be found
  std::optional<std::int64_t> project_id;
  std::optional<std::vector<std::int64_t>> projects;  ///< only in these, which may be none
  std::vector<ExperimentId> ids, not_ids;
  std::optional<ExperimentId> min_id, max_id;
  ExperimentSort sort = ExperimentSort::Id;
  Page page;
};
/// An experiment as lists show it: without its configuration, with sums over its trials.
struct ExperimentSummary {
  ExperimentId id;
  experiment::State state = experiment::State::Paused;
  std::string name, description, notes;
  std::vector<std::string> labels;
  std::int64_t model_definition_bytes = 0;
  UserId owner;
  std::string job_id, resource_pool;
  Time start_time;
  std::optional<Time> end_time;
  double progress = 0;
  bool archived = false;
  std::optional<ExperimentId> forked_from;
  std::string error;
  std::int64_t project_id = 1;
  std::string searcher, searcher_metric;  ///< searcher.name and searcher.metric of the configuration
  std::int64_t num_trials = 0, checkpoint_count = 0,
               checkpoint_bytes = 0;  ///< deleted checkpoints do not count
  std::optional<double> best_metric;
  TrialId best_trial;  ///< 0: none has validated
};
struct ExperimentList {
  std::int64_t total = 0;  ///< that match, on all pages
  std::vector<ExperimentSummary> experiments;
};
struct TrialQuery {
  ExperimentId experiment;
  std::vector<experiment::State> states;
  TrialSort sort = TrialSort::Id;
  Page page;
};
struct TrialList {
  std::int64_t total = 0;
  std::vector<TrialRecord> trials;
};

/// The validations and checkpoints of a trial in short.
struct TrialOverview {
  std::optional<MetricRecord> latest_validation, best_validation;
  std::optional<double> best_metric;                        ///< in `best_validation`
  std::int64_t checkpoint_count = 0, checkpoint_bytes = 0;  ///< completed ones
  std::optional<CheckpointRecord> best_checkpoint;          ///< by the validation at its batches
  json::object summary_metrics;                             ///< see Store::summary_metrics
};
struct OverviewQuery {
  std::vector<TrialId> trials;
  std::string metric;  ///< by which "best" is meant; of equal values the first
  bool smaller_is_better = true;
};

/// Which tasks that are no trials to list; a condition left empty lets all through.
struct TaskQuery {
  std::optional<task::Type> type;
  std::optional<std::int64_t> workspace_id;
};

/// How many experiments and trials there are of each state. Deleted ones do not count.
struct StateCounts {
  std::map<experiment::State, std::int64_t> experiments, trials;
};

/// The highest that are stored; 0: none is.
struct LastIds {
  ExperimentId experiment;
  TrialId trial;
};

/// What the platform remembers.
///
/// Writes: `commit` queues the changes; a writer thread puts everything that is
/// queued into one transaction (group commit), syncs, and then calls `done` of
/// each in order. The changes of one call are applied together or not at all,
/// and calls in the order made. A write that fails ends the process: what the
/// kernel did after a failed sync cannot be known (reliability.md §2.2). Only
/// a full disk is answered by waiting and trying again, with `on_stall` told.
///
/// The queue is bounded. While more than 64 MiB wait, `overloaded` is true, and reports
/// and log lines should be answered with 503 so that their senders try later. At
/// 1 GiB `commit` itself blocks until there is room.
///
/// Reads: blocking, on the caller's thread, from read-only connections; they see
/// at least everything whose `done` was called before. A read that fails throws an
/// exception (std::runtime_error); it never looks like an empty answer.
///
/// Threads: all members may be called from any thread.
class Store {
 public:
  virtual ~Store() = default;

  virtual void commit(std::vector<Change> changes, std::function<void()> done) = 0;
  /// Blocks until everything queued before is durable.
  virtual void flush() = 0;
  virtual bool overloaded() const = 0;
  /// Whether commits wait for space on the disk.
  virtual bool disk_full() const = 0;
  /// Whether commits wait for a database server that cannot be reached.
  virtual bool unreachable() const = 0;

  // What a restarted master needs.
  virtual std::optional<Snapshot> latest_snapshot() = 0;
  virtual std::vector<Event> events_after(std::int64_t sequence, std::int64_t limit) = 0;

  virtual std::vector<ExperimentRecord> experiments() = 0;  ///< all, ascending by id
  virtual std::optional<ExperimentRecord> experiment(ExperimentId id) = 0;
  virtual std::map<ExperimentId, ExperimentRecord> experiments(const std::vector<ExperimentId>& ids) = 0;
  virtual ExperimentList list_experiments(const ExperimentQuery& query) = 0;
  virtual std::vector<TrialRecord> trials(ExperimentId id) = 0;
  virtual TrialList list_trials(const TrialQuery& query) = 0;
  virtual std::optional<TrialRecord> trial(TrialId id) = 0;
  virtual std::vector<TrialRecord> trials(const std::vector<TrialId>& ids) = 0;  ///< those that there are
  virtual std::optional<TrialRecord> trial_of_task(const std::string& task_id) = 0;
  virtual std::optional<TaskRecord> task(const std::string& id) = 0;       ///< one that is no trial
  virtual std::vector<TaskRecord> list_tasks(const TaskQuery& query) = 0;  ///< ascending by their start
  virtual std::vector<AllocationRecord> allocations(const std::string& task_id) = 0;
  /// Those that started before `end` and were not over before `begin`, ascending by their start.
  virtual std::vector<UsageRecord> usage(Time begin, Time end) = 0;
  virtual std::vector<CheckpointRecord> checkpoints_of_experiment(ExperimentId id) = 0;
  virtual std::vector<CheckpointRecord> checkpoints_of_trial(TrialId id) = 0;
  virtual std::optional<CheckpointRecord> checkpoint(const std::string& uuid) = 0;
  /// Nothing: the checkpoint was not deleted, or its files are gone.
  virtual std::optional<DeletionRecord> deletion(const std::string& uuid) = 0;
  virtual std::vector<DeletionRecord> deletions_of_experiment(ExperimentId id) = 0;
  /// Whose files shall go by now: at most 1000, those that are due longest first.
  virtual std::vector<DeletionRecord> due_deletions(Time now) = 0;
  virtual std::vector<MetricRecord> metrics(const MetricQuery& query) = 0;  ///< ascending by (batches, group)
  /// What a chart shows of them, ascending by (batches, group): see CurveQuery. Where that is not all, a
  /// report has the metrics that are shown at its batches, numbers only, no `run_id`, and the records since
  /// the last one that is shown.
  virtual std::vector<MetricRecord> curve(const CurveQuery& query) = 0;
  /// Decodes the reports of the page only, however many there are beside them.
  virtual WorkloadPage workloads(const WorkloadQuery& query) = 0;
  virtual std::optional<MetricRecord> latest_metrics(TrialId trial, const std::string& group) = 0;
  /// What AddMetrics would refuse, as the answer to its sender: InvalidArgument for a name that is
  /// repeated with another value, AlreadyExists for a report of an earlier run that comes too late.
  virtual Result<void> check_metrics(const MetricRecord& record) = 0;
  /// Per group ("avg_metrics" for training, "validation_metrics", otherwise the group's name) and name:
  /// {"count","sum","min","max","mean","last","type":"number"}, or {"last","type"} for what is no number.
  virtual json::object summary_metrics(TrialId trial) = 0;
  /// The same of many at once. A trial without reports has none.
  virtual std::map<TrialId, json::object> summaries(const std::vector<TrialId>& trials) = 0;
  /// What lists show of each of these trials. Decodes few of their validations, however many there are.
  virtual std::map<TrialId, TrialOverview> overviews(const OverviewQuery& query) = 0;
  /// Each experiment outside the cluster, followed by its trials.
  virtual std::vector<UnmanagedRecord> unmanaged() = 0;
  virtual std::vector<EnvironmentRecord> environments(TrialId trial) = 0;  ///< the newest run first
  virtual std::optional<json::object> trial_metadata(TrialId trial) = 0;   ///< nothing where it said nothing
  virtual std::vector<LogRecord> logs(const LogQuery& query) = 0;
  /// Where the lines of a log come from: everything but id, level, time and text.
  virtual std::vector<LogRecord> log_origins(const std::string& task_id) = 0;
  /// What was said of the trial's log, or of its experiment's; nothing: the cluster's default holds.
  virtual std::optional<int> log_retention(TrialId trial) = 0;
  /// The logs of what is over, without those that are going already.
  virtual std::vector<EndedLog> ended_logs() = 0;
  /// How many lines the logs of these tasks have. Costs a look at each.
  virtual std::int64_t count_log_lines(const std::vector<std::string>& task_ids) = 0;
  /// What trials said of a checkpoint, or of the versions of a model, ascending by trial.
  virtual std::vector<TrialSourceRecord> sources_of_checkpoint(const std::string& uuid) = 0;
  virtual std::vector<TrialSourceRecord> sources_of_model(std::int64_t model) = 0;
  /// What PutSearch said last of the experiment.
  virtual std::optional<json::value> search(ExperimentId id) = 0;
  virtual std::optional<std::string> model_definition(const std::string& digest) = 0;
  virtual std::vector<UserRecord> users() = 0;
  virtual std::optional<SessionRecord> session(const std::string& token_hash) = 0;
  virtual std::vector<AccessTokenRecord> access_tokens() = 0;  ///< ascending by id
  virtual std::vector<TemplateRecord> templates() = 0;
  virtual std::vector<ModelRecord> models() = 0;                 ///< ascending by id
  virtual std::vector<ModelVersionRecord> model_versions() = 0;  ///< of all models, ascending
  virtual std::vector<WorkspaceRecord> workspaces() = 0;         ///< ascending by id
  virtual std::vector<ProjectRecord> projects() = 0;             ///< of all workspaces, ascending by id
  virtual std::vector<WorkspacePin> pins() = 0;
  /// Of the projects that hold experiments.
  virtual std::map<ProjectId, ProjectCounts> project_counts() = 0;
  virtual std::vector<ConfigPolicyRecord> config_policies() = 0;  ///< ascending by workspace
  virtual std::vector<WebhookRecord> webhooks() = 0;              ///< ascending by id
  virtual std::vector<DeliveryRecord> deliveries() = 0;           ///< the oldest first
  virtual std::vector<LogHitRecord> log_hits() = 0;
  virtual StateCounts state_counts() = 0;
  virtual LastIds last_ids() = 0;
  virtual std::optional<std::string> setting(const std::string& key) = 0;
  virtual std::vector<RoleAssignmentRecord> role_assignments() = 0;
  virtual std::vector<GroupRecord> groups() = 0;                        ///< ascending by id
  virtual std::vector<AuditRecord> audit(const AuditQuery& query) = 0;  ///< the newest first
  /// Those that are not reported yet, ascending by uuid.
  virtual std::vector<BegunCheckpointRecord> begun_checkpoints_of_experiment(ExperimentId id) = 0;
  virtual std::optional<BegunCheckpointRecord> begun_checkpoint(const std::string& uuid) = 0;
};

struct SqliteOptions {
  std::filesystem::path path;
  /// Called on the writer's thread.
  std::function<void(const std::string&)>
      on_stall;  ///< told once when the disk is full, and again when it is not
};

/// Opens or creates the database, holds a lock on it, and brings its schema up to date. The
/// destructor finishes what is queued; while the disk is full it gives up what was not acknowledged.
Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options);

/// Whether a text names a database on a server, not a directory.
bool is_postgres_url(std::string_view place);

struct PostgresOptions {
  std::string target;   ///< postgres://USER@HOST:PORT/NAME, as libpq takes it
  std::string holder;   ///< how masters that wait name this one: "host, process 123"
  std::string address;  ///< where clients reach this master, for those that wait; may be empty
  /// As in SqliteOptions: the disk of the server is full, or the server cannot be reached.
  std::function<void(const std::string&)> on_stall;
  /// Told when another master leads and this one waits; then `give_up` is asked many times a second.
  std::function<void(const std::string&)> on_wait;
  /// Told then, and at each change, where the leader is reached: its `address`.
  std::function<void(const std::string&)> on_leader;
  std::function<bool()> give_up;
};

/// Opens the database on a server, waits until this process is the one that leads, and brings the schema up
/// to date. Should another one take over, this process ends with status 75: nothing that it does can be
/// stored any more.
Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options);

}  // namespace det::store
