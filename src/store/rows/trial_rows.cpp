#include "det/store/rows/trial_rows.h"

#include "det/store/conditions.h"
#include "det/store/sql/batches.h"

namespace det::store {

namespace {

// A trial keeps its experiment and its task. Where a database would touch both indexes with every report of
// every trial if these were set, they are not.
constexpr std::string_view kPutTrial = R"sql(
INSERT INTO trials (id, experiment_id, request_id, task_id, state, hparams, seed, restarts, run_id, batches,
                    latest_checkpoint, warm_start_checkpoint, runner_state, best_metric, log_policy_matched, error,
                    start_time, end_time)
VALUES )sql";
constexpr std::string_view kTrialRow = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr std::string_view kUpdateTrial = R"sql(
ON CONFLICT (id) DO UPDATE
SET request_id = excluded.request_id, state = excluded.state, hparams = excluded.hparams, seed = excluded.seed,
    restarts = excluded.restarts, run_id = excluded.run_id, batches = excluded.batches,
    latest_checkpoint = excluded.latest_checkpoint, warm_start_checkpoint = excluded.warm_start_checkpoint,
    runner_state = excluded.runner_state, best_metric = excluded.best_metric,
    log_policy_matched = excluded.log_policy_matched, error = excluded.error,
    start_time = excluded.start_time, end_time = excluded.end_time
)sql";
constexpr std::string_view kSameOwner =
    "WHERE trials.experiment_id = excluded.experiment_id AND trials.task_id = excluded.task_id";
constexpr std::string_view kAnyOwner = ", experiment_id = excluded.experiment_id, task_id = excluded.task_id";

constexpr std::string_view kSelectTrials = R"sql(
SELECT id, experiment_id, request_id, task_id, state, hparams, seed, restarts, run_id, batches, latest_checkpoint,
       warm_start_checkpoint, runner_state, best_metric, log_policy_matched, error, start_time, end_time
FROM trials
)sql";

TrialRecord read_trial_row(Query& query) {
  TrialRecord r;
  query.read(r.id, r.experiment_id, r.request_id, r.task_id, r.state, Document{r.hparams}, r.seed, r.restarts,
             r.run_id, r.batches, r.latest_checkpoint, r.warm_start_checkpoint, r.runner_state, r.best_metric,
             r.log_policy_matched, r.error, r.start_time, r.end_time);
  return r;
}

constexpr std::string_view kPutAllocation = R"sql(
INSERT INTO allocations (id, task_id, experiment_id, trial_id, run_id, state, shares, requested, start_time, end_time,
                         exit_reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET task_id = excluded.task_id, experiment_id = excluded.experiment_id, trial_id = excluded.trial_id,
    run_id = excluded.run_id, state = excluded.state, shares = excluded.shares, requested = excluded.requested,
    start_time = excluded.start_time, end_time = excluded.end_time, exit_reason = excluded.exit_reason
)sql";

constexpr std::string_view kPutCheckpoint = R"sql(
INSERT INTO checkpoints (uuid, experiment_id, trial_id, task_id, allocation_id, state, batches, resources, bytes,
                         metadata, searcher_metric, report_time)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (uuid) DO UPDATE
SET experiment_id = excluded.experiment_id, trial_id = excluded.trial_id, task_id = excluded.task_id,
    allocation_id = excluded.allocation_id, state = excluded.state, batches = excluded.batches,
    resources = excluded.resources, bytes = excluded.bytes, metadata = excluded.metadata,
    searcher_metric = excluded.searcher_metric, report_time = excluded.report_time
)sql";

std::string_view column_of(TrialSort sort) {
  switch (sort) {
    case TrialSort::Id: return "id";
    case TrialSort::State: return "state";
    case TrialSort::StartTime: return "start_time";
    case TrialSort::EndTime: return "end_time";
    case TrialSort::Batches: return "batches";
    case TrialSort::Restarts: return "restarts";
    case TrialSort::BestMetric: return "best_metric";
  }
  return "id";
}

}  // namespace

namespace {

void bind(Query& query, const TrialRecord& r) {
  query.bind(r.id, r.experiment_id, r.request_id, r.task_id, r.state, Document{r.hparams}, r.seed, r.restarts,
             r.run_id, r.batches, r.latest_checkpoint, r.warm_start_checkpoint, r.runner_state, r.best_metric,
             r.log_policy_matched, r.error, r.start_time, r.end_time);
}

void put_unless_it_moves(Connection& connection, const TrialRecord& r) {
  static const auto same_owner = fmt::format("{}{}{}{}", kPutTrial, kTrialRow, kUpdateTrial, kSameOwner);
  const auto put = [&] {
    Query query(connection, same_owner);
    bind(query, r);
    query.run();
  };
  put();
  if (connection.changes() != 0) return;
  Query(connection, "UPDATE trials SET experiment_id = ?, task_id = ? WHERE id = ?")
      .bind(r.experiment_id, r.task_id, r.id)
      .run();
  put();
}

}  // namespace

void put_trials(Connection& connection, std::span<const TrialRecord* const> records) {
  if (!connection.dialect().compares_indexed_values) {
    for (const auto* record : records) put_unless_it_moves(connection, *record);
    return;
  }
  for_each_batch(connection, records.size(), [&](std::size_t from, std::size_t rows) {
    Query query(connection,
                fmt::format("{}{}{}{}", kPutTrial, repeated(kTrialRow, rows), kUpdateTrial, kAnyOwner));
    for (const auto* record : records.subspan(from, rows)) bind(query, *record);
    query.run();
  });
}

void put_allocation(Connection& connection, const AllocationRecord& r) {
  Query(connection, kPutAllocation)
      .bind(r.id, r.task_id, r.experiment_id, r.trial_id, r.run_id, r.state, Document{r.shares}, r.requested,
            r.start_time, r.end_time, r.exit_reason)
      .run();
}

CheckpointRecord read_checkpoint_row(Query& query) {
  CheckpointRecord r;
  query.read(r.uuid, r.experiment_id, r.trial_id, r.task_id, r.allocation_id, r.state, r.batches,
             Document{r.resources}, Document{r.metadata}, r.searcher_metric, r.report_time);
  return r;
}

void put_checkpoint(Connection& connection, const CheckpointRecord& r) {
  std::int64_t bytes = 0;
  for (const auto& [name, size] : r.resources) bytes += size;
  Query(connection, kPutCheckpoint)
      .bind(r.uuid, r.experiment_id, r.trial_id, r.task_id, r.allocation_id, r.state, r.batches,
            Document{r.resources}, bytes, Document{r.metadata}, r.searcher_metric, r.report_time)
      .run();
}

void set_trial_metadata(Connection& connection, const SetTrialMetadata& set) {
  Query(connection, R"sql(
INSERT INTO trial_metadata (trial_id, body)
VALUES (?, ?)
ON CONFLICT (trial_id) DO UPDATE SET body = excluded.body
)sql")
      .bind(set.trial_id, Document{set.metadata})
      .run();
}

std::optional<json::object> read_trial_metadata(Connection& connection, TrialId id) {
  Query query(connection, "SELECT body FROM trial_metadata WHERE trial_id = ?");
  query.bind(id);
  return first<json::object>(query, [](Query& row) {
    json::object metadata;
    row.read(Document{metadata});
    return metadata;
  });
}

namespace {

constexpr std::string_view kSelectSources =
    "SELECT trial_id, checkpoint, kind, model, model_version FROM trial_sources ";

TrialSourceRecord read_source_row(Query& row) {
  TrialSourceRecord r;
  row.read(r.trial, r.checkpoint, r.kind, r.model, r.model_version);
  return r;
}

}  // namespace

void put_trial_source(Connection& connection, const TrialSourceRecord& r) {
  Query(connection, R"sql(
INSERT INTO trial_sources (trial_id, checkpoint, kind, model, model_version)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (trial_id, checkpoint) DO UPDATE
SET kind = excluded.kind, model = excluded.model, model_version = excluded.model_version
)sql")
      .bind(r.trial, r.checkpoint, r.kind, r.model, r.model_version)
      .run();
}

std::vector<TrialSourceRecord> read_sources_of_checkpoint(Connection& connection, const std::string& uuid) {
  static const auto sql = std::string(kSelectSources) + "WHERE checkpoint = ? ORDER BY trial_id";
  Query query(connection, sql);
  query.bind(uuid);
  return collect<TrialSourceRecord>(query, read_source_row);
}

std::vector<TrialSourceRecord> read_sources_of_model(Connection& connection, std::int64_t model) {
  static const auto sql = std::string(kSelectSources) + "WHERE model = ? ORDER BY trial_id";
  Query query(connection, sql);
  query.bind(model);
  return collect<TrialSourceRecord>(query, read_source_row);
}

std::vector<TrialRecord> read_trials(Connection& connection, ExperimentId id) {
  static const auto sql = std::string(kSelectTrials) + "WHERE experiment_id = ? ORDER BY id";
  Query query(connection, sql);
  query.bind(id);
  return collect<TrialRecord>(query, read_trial_row);
}

TrialList read_trial_list(Connection& connection, const TrialQuery& trials) {
  Conditions conditions(connection);
  conditions.add("experiment_id = ?", trials.experiment.value());
  conditions.add_in("state", names_of(trials.states));
  TrialList list;
  list.total = count_rows(connection, "trials", conditions);
  Query query(connection,
              OneTimeSql{fmt::format("{}{}{}{}", kSelectTrials, conditions.where(),
                                     order_by(column_of(trials.sort), trials.page.descending), kLimit)});
  conditions.bind(query);
  bind_page(query, trials.page, list.total);
  list.trials = collect<TrialRecord>(query, read_trial_row);
  return list;
}

std::vector<TrialRecord> read_trials_by_id(Connection& connection, const std::vector<TrialId>& ids) {
  static const auto sql = std::string(kSelectTrials) + "WHERE id = ?";
  std::vector<TrialRecord> trials;
  ask_of_each(
      connection, sql, ids, [](Query& query, TrialId id) { query.bind(id); },
      [&](Query& row, TrialId) { trials.push_back(read_trial_row(row)); });
  return trials;
}

std::optional<TrialRecord> read_trial(Connection& connection, TrialId id) {
  auto found = read_trials_by_id(connection, {id});
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::optional<TrialRecord> read_trial_of_task(Connection& connection, const std::string& task_id) {
  static const auto sql = std::string(kSelectTrials) + "WHERE task_id = ? ORDER BY id LIMIT 1";
  Query query(connection, sql);
  query.bind(task_id);
  return first<TrialRecord>(query, read_trial_row);
}

std::vector<AllocationRecord> read_allocations(Connection& connection, const std::string& task_id) {
  Query query(connection, R"sql(
SELECT id, task_id, experiment_id, trial_id, run_id, state, shares, requested, start_time, end_time, exit_reason
FROM allocations
WHERE task_id = ?
ORDER BY run_id, number
)sql");
  query.bind(task_id);
  return collect<AllocationRecord>(query, [](Query& row) {
    AllocationRecord r;
    row.read(r.id, r.task_id, r.experiment_id, r.trial_id, r.run_id, r.state, Document{r.shares}, r.requested,
             r.start_time, r.end_time, r.exit_reason);
    return r;
  });
}

std::vector<UsageRecord> read_usage(Connection& connection, Time begin, Time end) {
  Query query(connection, R"sql(
SELECT allocations.id, task_id, experiment_id, trial_id, run_id, allocations.state, shares, requested,
       allocations.start_time AS begun, allocations.end_time, exit_reason,
       COALESCE(experiments.owner, tasks.owner), COALESCE(experiments.resource_pool, tasks.resource_pool), labels,
       COALESCE(project_id, 1), tasks.type, COALESCE(tasks.workspace_id, 1), allocations.number AS place
FROM allocations
LEFT JOIN experiments ON experiments.id = experiment_id
LEFT JOIN tasks ON tasks.id = task_id
WHERE (experiments.id IS NOT NULL OR tasks.id IS NOT NULL) AND allocations.start_time < ?1
  AND (allocations.end_time IS NULL OR allocations.end_time > ?2)
UNION ALL
SELECT allocation_id, task_id, experiment_id, trial_id, run_id, state, shares, requested, start_time, end_time,
       exit_reason, owner, resource_pool, labels, project_id, NULL, 1, 0
FROM usage_of_deleted
WHERE start_time < ?1 AND end_time > ?2
ORDER BY begun, place
)sql");
  query.bind(end, begin);
  return collect<UsageRecord>(query, [](Query& row) {
    UsageRecord r;
    auto& a = r.allocation;
    row.read(a.id, a.task_id, a.experiment_id, a.trial_id, a.run_id, a.state, Document{a.shares}, a.requested,
             a.start_time, a.end_time, a.exit_reason, r.owner, r.resource_pool, Document{r.labels},
             r.project_id, r.task_type, r.workspace_id);
    return r;
  });
}

void set_checkpoint_metadata(Connection& connection, const SetCheckpointMetadata& set) {
  Query(connection, "UPDATE checkpoints SET metadata = ? WHERE uuid = ?")
      .bind(Document{set.metadata}, set.uuid)
      .run();
}

std::vector<CheckpointRecord> read_checkpoints_of_experiment(Connection& connection, ExperimentId id) {
  static const auto sql = std::string(kSelectCheckpoints) + "WHERE experiment_id = ? ORDER BY number";
  Query query(connection, sql);
  query.bind(id);
  return collect<CheckpointRecord>(query, read_checkpoint_row);
}

std::vector<CheckpointRecord> read_checkpoints_of_trial(Connection& connection, TrialId id) {
  static const auto sql = std::string(kSelectCheckpoints) + "WHERE trial_id = ? ORDER BY number";
  Query query(connection, sql);
  query.bind(id);
  return collect<CheckpointRecord>(query, read_checkpoint_row);
}

std::optional<CheckpointRecord> read_checkpoint(Connection& connection, const std::string& uuid) {
  static const auto sql = std::string(kSelectCheckpoints) + "WHERE uuid = ?";
  Query query(connection, sql);
  query.bind(uuid);
  return first<CheckpointRecord>(query, read_checkpoint_row);
}

}  // namespace det::store
