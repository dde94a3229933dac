#include "det/store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "det/store/listing.h"
#include "det/store/metrics/metric_blocks.h"
#include "det/store/metrics/metric_summary.h"
#include "det/store/rows/access_rows.h"
#include "det/store/rows/config_policy_rows.h"
#include "det/store/rows/environment_rows.h"
#include "det/store/rows/event_rows.h"
#include "det/store/rows/experiment_rows.h"
#include "det/store/rows/model_rows.h"
#include "det/store/rows/task_rows.h"
#include "det/store/rows/trial_rows.h"
#include "det/store/rows/unmanaged_rows.h"
#include "det/store/rows/user_rows.h"
#include "det/store/rows/webhook_rows.h"
#include "det/store/rows/workload_rows.h"
#include "det/store/rows/workspace_rows.h"
#include "det/store/sqlite/file_lock.h"
#include "det/store/sqlite/log_space.h"
#include "det/store/sqlite/migrations.h"
#include "det/store/sqlite/reader_pool.h"

namespace det::store {

namespace {

class SqliteStore final : public Store {
 public:
  SqliteStore(FileLock lock, std::unique_ptr<Connection> connection, const std::filesystem::path& path,
              WriterOptions options)
      : lock_(std::move(lock)),
        connection_(std::move(connection)),
        writer_(*connection_, std::move(options)),
        readers_(path) {}

  void commit(std::vector<Change> changes, std::function<void()> done) override {
    writer_.commit(std::move(changes), std::move(done));
  }
  void flush() override { writer_.flush(); }
  bool overloaded() const override { return writer_.overloaded(); }
  bool disk_full() const override { return writer_.stalled(); }

  std::optional<Snapshot> latest_snapshot() override { return read(read_latest_snapshot); }
  std::vector<Event> events_after(std::int64_t sequence, std::int64_t limit) override {
    return read(read_events_after, sequence, limit);
  }
  std::vector<ExperimentRecord> experiments() override { return read(read_experiments); }
  std::optional<ExperimentRecord> experiment(ExperimentId id) override { return read(read_experiment, id); }
  ExperimentList list_experiments(const ExperimentQuery& query) override {
    return read(read_experiment_list, query);
  }
  std::vector<TrialRecord> trials(ExperimentId id) override { return read(read_trials, id); }
  TrialList list_trials(const TrialQuery& query) override { return read(read_trial_list, query); }
  std::optional<TrialRecord> trial(TrialId id) override { return read(read_trial, id); }
  std::optional<TrialRecord> trial_of_task(const std::string& task_id) override {
    return read(read_trial_of_task, task_id);
  }
  std::optional<TaskRecord> task(const std::string& id) override { return read(read_task, id); }
  std::vector<TaskRecord> list_tasks(const TaskQuery& query) override { return read(read_task_list, query); }
  std::vector<AllocationRecord> allocations(const std::string& task_id) override {
    return read(read_allocations, task_id);
  }
  std::vector<CheckpointRecord> checkpoints_of_experiment(ExperimentId id) override {
    return read(read_checkpoints_of_experiment, id);
  }
  std::vector<CheckpointRecord> checkpoints_of_trial(TrialId id) override {
    return read(read_checkpoints_of_trial, id);
  }
  std::optional<CheckpointRecord> checkpoint(const std::string& uuid) override {
    return read(read_checkpoint, uuid);
  }
  std::vector<MetricRecord> metrics(const MetricQuery& query) override { return read(read_metrics, query); }
  std::vector<MetricRecord> curve(const CurveQuery& query) override { return read(read_curve, query); }
  WorkloadPage workloads(const WorkloadQuery& query) override { return read(read_workloads, query); }
  std::optional<MetricRecord> latest_metrics(TrialId trial, const std::string& group) override {
    return read(read_latest_metrics, trial, group);
  }
  Result<void> check_metrics(const MetricRecord& record) override { return read(check_report, record); }
  json::object summary_metrics(TrialId trial) override { return read(read_summary, trial); }
  std::vector<UnmanagedRecord> unmanaged() override { return read(read_unmanaged); }
  std::vector<EnvironmentRecord> environments(TrialId trial) override {
    return read(read_environments, trial);
  }
  std::optional<json::object> trial_metadata(TrialId trial) override {
    return read(read_trial_metadata, trial);
  }
  std::vector<LogRecord> logs(const LogQuery& query) override { return read(read_logs, query); }
  std::vector<LogRecord> log_origins(const std::string& task_id) override {
    return read(read_log_origins, task_id);
  }
  std::optional<int> log_retention(TrialId trial) override { return read(read_log_retention, trial); }
  std::vector<EndedLog> ended_logs() override { return read(read_ended_logs); }
  std::int64_t count_log_lines(const std::vector<std::string>& task_ids) override {
    return read(store::count_log_lines, task_ids);
  }
  std::optional<DeletionRecord> deletion(const std::string& uuid) override {
    return read(read_deletion, uuid);
  }
  std::vector<DeletionRecord> deletions_of_experiment(ExperimentId id) override {
    return read(read_deletions_of_experiment, id);
  }
  std::vector<DeletionRecord> due_deletions(Time now) override { return read(read_due_deletions, now); }
  std::optional<BegunCheckpointRecord> begun_checkpoint(const std::string& uuid) override {
    return read(read_begun_checkpoint, uuid);
  }
  std::vector<BegunCheckpointRecord> begun_checkpoints_of_experiment(ExperimentId id) override {
    return read(read_begun_checkpoints_of_experiment, id);
  }
  std::vector<TrialSourceRecord> sources_of_checkpoint(const std::string& uuid) override {
    return read(read_sources_of_checkpoint, uuid);
  }
  std::vector<TrialSourceRecord> sources_of_model(std::int64_t model) override {
    return read(read_sources_of_model, model);
  }
  std::optional<json::value> search(ExperimentId id) override { return read(read_search, id); }
  std::optional<std::string> model_definition(const std::string& digest) override {
    return read(read_model_definition, digest);
  }
  std::vector<UserRecord> users() override { return read(read_users); }
  std::optional<SessionRecord> session(const std::string& token_hash) override {
    return read(read_session, token_hash);
  }
  std::vector<AccessTokenRecord> access_tokens() override { return read(read_access_tokens); }
  std::vector<UsageRecord> usage(Time begin, Time end) override { return read(read_usage, begin, end); }
  std::vector<TemplateRecord> templates() override { return read(read_templates); }
  std::vector<ModelRecord> models() override { return read(read_models); }
  std::vector<ModelVersionRecord> model_versions() override { return read(read_model_versions); }
  std::vector<WorkspaceRecord> workspaces() override { return read(read_workspaces); }
  std::vector<ProjectRecord> projects() override { return read(read_projects); }
  std::vector<WorkspacePin> pins() override { return read(read_pins); }
  std::map<ProjectId, ProjectCounts> project_counts() override { return read(read_project_counts); }
  std::vector<WebhookRecord> webhooks() override { return read(read_webhooks); }
  std::vector<DeliveryRecord> deliveries() override { return read(read_deliveries); }
  std::vector<LogHitRecord> log_hits() override { return read(read_log_hits); }
  StateCounts state_counts() override { return read(read_state_counts); }
  std::optional<std::string> setting(const std::string& key) override { return read(read_setting, key); }
  std::vector<ConfigPolicyRecord> config_policies() override { return read(read_config_policies); }
  std::vector<GroupRecord> groups() override { return read(read_groups); }
  std::vector<RoleAssignmentRecord> role_assignments() override { return read(read_role_assignments); }
  std::vector<AuditRecord> audit(const AuditQuery& query) override { return read(read_audit, query); }

 private:
  template <class Answer, class... Parameters, class... Arguments>
  Answer read(Answer (*function)(Connection&, Parameters...), const Arguments&... arguments) {
    return readers_.read([&](Connection& connection) { return function(connection, arguments...); });
  }

  // In this order: the readers close first, so that the writer's connection is the
  // last and cleans up; the lock goes when all is closed.
  FileLock lock_;
  std::unique_ptr<Connection> connection_;
  Writer writer_;
  ReaderPool readers_;
};

Result<void> make_directory(const std::filesystem::path& path) {
  if (!path.has_parent_path()) return {};
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  if (failure)
    return fail(ErrorCode::Unavailable, "cannot create the directory {}: {}", path.parent_path().string(),
                failure.message());
  return {};
}

void require_wal(Connection& connection) {
  Query query(connection, OneTimeSql{"PRAGMA journal_mode = WAL"});
  query.next();
  if (const auto mode = query.get<std::string>(); mode != "wal")
    throw std::runtime_error(
        fmt::format("the file system does not support a write-ahead log (journal mode is '{}'); choose "
                    "another data directory",
                    mode));
}

// The log usually stays within what is reserved: it is copied back at `pages`, and may
// grow a little further until that happens.
void prepare_log(Connection& connection, const std::filesystem::path& path, int pages) {
  constexpr std::int64_t kFrameBytes = 4096 + 24;
  const auto bytes = (pages + pages / 4) * kFrameBytes;
  connection.execute(fmt::format("PRAGMA journal_size_limit = {}", bytes).c_str());
  reserve_log_space(path.string() + "-wal", bytes);
}

}  // namespace

void keep_to_owner(const std::filesystem::path& path) {
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  for (const char* beside : {"", "-wal", "-shm"}) ::chmod((path.string() + beside).c_str(), 0600);
}

Result<std::unique_ptr<Store>> open_sqlite(const std::filesystem::path& path, WriterOptions options) {
  if (auto made = make_directory(path); !made) return tl::unexpected(std::move(made).error());
  DET_TRY(auto lock, FileLock::acquire(path));
  keep_to_owner(path);
  try {
    auto connection = std::make_unique<Connection>(path, Connection::Mode::Write);
    if (auto migrated = migrate(*connection, built_in_migrations()); !migrated)
      return tl::unexpected(std::move(migrated).error().within(path.string()));
    require_wal(*connection);
    if (options.reserve_log) prepare_log(*connection, path, options.checkpoint_pages);
    options.name = path.string();
    return std::make_unique<SqliteStore>(std::move(lock), std::move(connection), path, std::move(options));
  } catch (const SqliteError& error) {
    return fail(ErrorCode::Unavailable, "cannot open {}: {}{}", path.string(),
                error.disk_full() ? "the disk is full; free some space and start again: " : "", error.what());
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::Unavailable, "cannot open {}: {}", path.string(), error.what());
  }
}

Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options) {
  WriterOptions writer;
  writer.on_stall = std::move(options.on_stall);
  return open_sqlite(options.path, std::move(writer));
}

}  // namespace det::store
