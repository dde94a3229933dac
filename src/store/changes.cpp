#include "det/store/changes.h"

#include "det/store/rows/access_rows.h"
#include "det/store/rows/config_policy_rows.h"
#include "det/store/rows/environment_rows.h"
#include "det/store/rows/experiment_rows.h"
#include "det/store/rows/model_rows.h"
#include "det/store/rows/task_rows.h"
#include "det/store/rows/trial_rows.h"
#include "det/store/rows/unmanaged_rows.h"
#include "det/store/rows/user_rows.h"
#include "det/store/rows/webhook_rows.h"
#include "det/store/rows/workspace_rows.h"

namespace det::store {

namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

std::size_t bytes_of(const json::value& value) {
  std::size_t bytes = sizeof value;
  if (value.is_string()) bytes += value.get_string().size();
  if (value.is_array())
    for (const auto& item : value.get_array()) bytes += bytes_of(item);
  if (value.is_object())
    for (const auto& [key, item] : value.get_object()) bytes += key.size() + bytes_of(item);
  return bytes;
}
std::size_t bytes_of(const json::object& members) {
  std::size_t bytes = 0;
  for (const auto& [key, item] : members) bytes += key.size() + bytes_of(item);
  return bytes;
}
std::size_t bytes_of(const std::vector<LogRecord>& lines) {
  std::size_t bytes = 0;
  for (const auto& line : lines)
    bytes += sizeof line + line.log.size() + line.task_id.size() + line.allocation_id.size();
  return bytes;
}

}  // namespace

ChangeWriter::ChangeWriter(Connection& connection)
    : connection_(connection),
      last_sequence_(read_last_sequence(connection)),
      events_(connection),
      metrics_(connection),
      logs_(connection) {}

void ChangeWriter::apply(const Change& change) {
  const auto& what = *change;
  if (!std::holds_alternative<AppendEvent>(what) && !std::holds_alternative<PutTrial>(what) &&
      !std::holds_alternative<AddMetrics>(what))
    put_gathered();
  std::visit(
      Overloaded{
          [&](const AppendEvent& c) { apply_one(c); },
          [&](const SaveSnapshot& c) { apply_one(c); },
          [&](const PutExperiment& c) { put_experiment(connection_, c.record); },
          [&](const PutTrial& c) { apply_one(c); },
          [&](const PutAllocation& c) { put_allocation(connection_, c.record); },
          [&](const PutCheckpoint& c) {
            put_checkpoint(connection_, c.record);
            drop_begun_checkpoint(connection_, c.record.uuid);
          },
          [&](const PutTask& c) { put_task(connection_, c.record); },
          [&](const AddMetrics& c) { metrics_.add(c); },
          [&](const RewindTrial& c) { metrics_.rewind(c); },
          [&](const AddLogs& c) { logs_.add(c); },
          [&](const AddOwnLogs& c) { logs_.add(c); },
          [&](const PutSearch& c) { put_search(connection_, c); },
          [&](const PutModelDefinition& c) { put_model_definition(connection_, c); },
          [&](const PutUser& c) { put_user(connection_, c.record); },
          [&](const PutSession& c) { put_session(connection_, c.record); },
          [&](const DeleteSession& c) { delete_session(connection_, c.token_hash); },
          [&](const DeleteSessionsOf& c) { delete_sessions(connection_, c); },
          [&](const PutAccessToken& c) { put_access_token(connection_, c.record); },
          [&](const PutTemplate& c) { put_template(connection_, c.record); },
          [&](const DeleteTemplate& c) { delete_template(connection_, c.name); },
          [&](const DeleteExperiment& c) {
            metrics_.settle();
            delete_log_hits(connection_, c.id);
            delete_log_retention(connection_, c.id);
            delete_experiment(connection_, c.id);
          },
          [&](const PutModel& c) { put_model(connection_, c.record); },
          [&](const DeleteModel& c) { delete_model(connection_, c.id); },
          [&](const PutModelVersion& c) { put_model_version(connection_, c.record); },
          [&](const DeleteModelVersion& c) { delete_model_version(connection_, c); },
          [&](const SetCheckpointMetadata& c) { set_checkpoint_metadata(connection_, c); },
          [&](const SetTrialMetadata& c) { set_trial_metadata(connection_, c); },
          [&](const AddEnvironment& c) { put_environment(connection_, c.record); },
          [&](const CopyEnvironment& c) { copy_environment(connection_, c); },
          [&](const PutUnmanaged& c) { put_unmanaged(connection_, c.record); },
          [&](const PutTrialSource& c) { put_trial_source(connection_, c.record); },
          [&](const PutWorkspace& c) { put_workspace(connection_, c.record); },
          [&](const DeleteWorkspace& c) { delete_workspace(connection_, c.id); },
          [&](const PutProject& c) { put_project(connection_, c.record); },
          [&](const DeleteProject& c) { delete_project(connection_, c.id); },
          [&](const PutPin& c) { put_pin(connection_, c.pin); },
          [&](const DeletePin& c) { delete_pin(connection_, c.user, c.workspace); },
          [&](const PutConfigPolicy& c) { put_config_policy(connection_, c.record); },
          [&](const DeleteConfigPolicy& c) { delete_config_policy(connection_, c.workspace, c.workload); },
          [&](const PutWebhook& c) { put_webhook(connection_, c.record); },
          [&](const DeleteWebhook& c) { delete_webhook(connection_, c.id); },
          [&](const PutDelivery& c) { put_delivery(connection_, c.record); },
          [&](const DeleteDelivery& c) { delete_delivery(connection_, c.event_id); },
          [&](const PutLogHit& c) { put_log_hit(connection_, c.record); },
          [&](const PutSetting& c) { put_setting(connection_, c.key, c.value); },
          [&](const PutRoleAssignment& c) { put_role_assignment(connection_, c.record); },
          [&](const DeleteRoleAssignment& c) { delete_role_assignment(connection_, c.record); },
          [&](const PutGroup& c) { put_group(connection_, c.record); },
          [&](const DeleteGroup& c) { delete_group(connection_, c.id); },
          [&](const AppendAudit& c) { append_audit(connection_, c.record); },
          [&](const PruneAudit& c) { prune_audit(connection_, c.before); },
          [&](const SetLogRetention& c) { set_log_retention(connection_, c); },
          [&](const DropLogs& c) { drop_logs(connection_, c); },
          [&](const PutDeletion& c) { put_deletion(connection_, c.record); },
          [&](const EndDeletion& c) { end_deletion(connection_, c.uuid); },
          [&](const BeginCheckpoint& c) { begin_checkpoint(connection_, c.record); },
          [&](const DropBegunCheckpoint& c) { drop_begun_checkpoint(connection_, c.uuid); },
      },
      *change);
}

void ChangeWriter::apply_one(const AppendEvent& append) {
  DET_ASSERT(append.event.sequence > last_sequence_);
  last_sequence_ = append.event.sequence;
  gathered_events_.push_back(&append.event);
  if (connection_.dialect().rows_at_once == 1) put_gathered();
}

void ChangeWriter::apply_one(const PutTrial& put) {
  const auto* record = &put.record;
  if (connection_.dialect().rows_at_once == 1) return put_trials(connection_, std::span(&record, 1));
  gathered_trials_[record->id] = record;
}

void ChangeWriter::put_gathered() {
  if (!gathered_trials_.empty()) {
    std::vector<const TrialRecord*> trials;
    for (const auto& [id, record] : std::exchange(gathered_trials_, {})) trials.push_back(record);
    put_trials(connection_, trials);
  }
  if (gathered_events_.empty()) return;
  const auto events = std::exchange(gathered_events_, {});
  append_events(connection_, events);
  for (std::size_t i = 0; i < events.size(); ++i) events_.appended();
}

void ChangeWriter::finish() {
  put_gathered();
  metrics_.settle();
}

void ChangeWriter::apply_one(const SaveSnapshot& save) {
  save_snapshot(connection_, save.snapshot);
  events_.forget();
}

void ChangeWriter::forget() {
  gathered_events_.clear();
  gathered_trials_.clear();
  last_sequence_ = read_last_sequence(connection_);
  events_.forget();
  metrics_.forget();
  logs_.forget();
}

std::size_t approximate_bytes(const Change& change) {
  static constexpr std::size_t kRow = 512;
  return std::visit(Overloaded{
                        [](const AppendEvent& c) { return kRow + bytes_of(c.event.body); },
                        [](const SaveSnapshot& c) { return kRow + bytes_of(c.snapshot.body); },
                        [](const PutExperiment& c) {
                          return kRow + bytes_of(c.record.config) + c.record.original_config.size();
                        },
                        [](const PutTrial& c) { return kRow + bytes_of(c.record.hparams); },
                        [](const PutCheckpoint& c) {
                          return kRow + c.record.resources.size() * 128 + bytes_of(c.record.metadata);
                        },
                        [](const PutTask& c) { return kRow + bytes_of(c.record.config); },
                        [](const PutDeletion& c) { return kRow + c.record.resources.size() * 128; },
                        [](const DropLogs& c) { return kRow + c.task_ids.size() * 128; },
                        [](const PutModel& c) { return kRow + bytes_of(c.record.metadata); },
                        [](const PutModelVersion& c) { return kRow + bytes_of(c.record.metadata); },
                        [](const PutProject& c) {
                          std::size_t bytes = kRow + c.record.description.size();
                          for (const auto& note : c.record.notes) bytes += note.contents.size();
                          return bytes;
                        },
                        [](const SetCheckpointMetadata& c) { return kRow + bytes_of(c.metadata); },
                        [](const SetTrialMetadata& c) { return kRow + bytes_of(c.metadata); },
                        [](const AddEnvironment& c) { return kRow + bytes_of(c.record.environment); },
                        [](const AddMetrics& c) {
                          std::size_t bytes = kRow + bytes_of(c.record.avg_metrics);
                          for (const auto& batch : c.record.batch_metrics) bytes += bytes_of(batch);
                          return bytes;
                        },
                        [](const AddLogs& c) { return kRow + bytes_of(c.lines); },
                        [](const AddOwnLogs& c) { return kRow + bytes_of(c.lines); },
                        [](const PutSearch& c) { return kRow + bytes_of(c.state); },
                        [](const PutModelDefinition& c) { return kRow + c.archive.size(); },
                        [](const PutDelivery& c) { return kRow + c.record.body.size(); },
                        [](const PutTemplate& c) { return kRow + c.record.yaml.size(); },
                        [](const PutConfigPolicy& c) { return kRow + c.record.yaml.size(); },
                        [](const auto&) { return kRow; },
                    },
                    *change);
}

}  // namespace det::store
