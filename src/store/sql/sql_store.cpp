#include "det/store/sql/sql_store.h"

#include "det/store/listing.h"
#include "det/store/metrics/metric_blocks.h"
#include "det/store/metrics/metric_summary.h"
#include "det/store/metrics/trial_overview.h"
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

namespace det::store {

namespace {

class SqlStore final : public Store {
 public:
  explicit SqlStore(SqlStoreParts parts)
      : rest_(std::move(parts.rest)),
        transactions_(std::move(parts.transactions)),
        writer_(*transactions_, std::move(parts.writer)),
        watch_(parts.watch ? parts.watch(writer_) : nullptr),
        readers_(std::move(parts.readers)) {}

  void commit(std::vector<Change> changes, std::function<void()> done) override {
    writer_.commit(std::move(changes), std::move(done));
  }
  void flush() override { writer_.flush(); }
  bool overloaded() const override { return writer_.overloaded(); }
  bool disk_full() const override { return writer_.stall() == Writer::Stall::DiskFull; }
  bool unreachable() const override { return writer_.stall() == Writer::Stall::Unreachable; }

  std::optional<Snapshot> latest_snapshot() override { return read(read_latest_snapshot); }
  std::vector<Event> events_after(std::int64_t sequence, std::int64_t limit) override {
    return read(read_events_after, sequence, limit);
  }
  std::vector<ExperimentRecord> experiments() override { return read(read_experiments); }
  std::optional<ExperimentRecord> experiment(ExperimentId id) override { return read(read_experiment, id); }
  std::map<ExperimentId, ExperimentRecord> experiments(const std::vector<ExperimentId>& ids) override {
    return read(read_experiments_by_id, ids);
  }
  ExperimentList list_experiments(const ExperimentQuery& query) override {
    return read(read_experiment_list, query);
  }
  std::vector<TrialRecord> trials(ExperimentId id) override { return read(read_trials, id); }
  TrialList list_trials(const TrialQuery& query) override { return read(read_trial_list, query); }
  std::optional<TrialRecord> trial(TrialId id) override { return read(read_trial, id); }
  std::vector<TrialRecord> trials(const std::vector<TrialId>& ids) override {
    return read(read_trials_by_id, ids);
  }
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
  json::object summary_metrics(TrialId trial) override {
    auto summaries = read(read_summaries, std::vector{trial});
    return std::move(summaries[trial]);
  }
  std::map<TrialId, json::object> summaries(const std::vector<TrialId>& trials) override {
    return read(read_summaries, trials);
  }
  std::map<TrialId, TrialOverview> overviews(const OverviewQuery& query) override {
    return read(read_overviews, query);
  }
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
  LastIds last_ids() override { return read(read_last_ids); }
  std::optional<std::string> setting(const std::string& key) override { return read(read_setting, key); }
  std::vector<ConfigPolicyRecord> config_policies() override { return read(read_config_policies); }
  std::vector<GroupRecord> groups() override { return read(read_groups); }
  std::vector<RoleAssignmentRecord> role_assignments() override { return read(read_role_assignments); }
  std::vector<AuditRecord> audit(const AuditQuery& query) override { return read(read_audit, query); }

 private:
  template <class Answer, class... Parameters, class... Arguments>
  Answer read(Answer (*function)(Connection&, Parameters...), const Arguments&... arguments) {
    std::optional<Answer> answer;
    readers_->read([&](Connection& connection) { answer.emplace(function(connection, arguments...)); });
    return *std::move(answer);
  }

  std::shared_ptr<void> rest_;
  std::unique_ptr<Transactions> transactions_;
  Writer writer_;
  std::shared_ptr<void> watch_;
  std::unique_ptr<Readers> readers_;
};

}  // namespace

std::unique_ptr<Store> make_sql_store(SqlStoreParts parts) {
  return std::make_unique<SqlStore>(std::move(parts));
}

}  // namespace det::store
