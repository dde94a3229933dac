#include "det/store/rows/experiment_rows.h"

#include "det/store/rows/environment_rows.h"
#include "det/store/rows/unmanaged_rows.h"

namespace det::store {

namespace {

struct SearcherColumns {
  std::string name, metric;
  bool smaller_is_better = true;
};

// What lists need of the configuration, so that they need not parse it.
SearcherColumns searcher_columns(const json::object& config) {
  SearcherColumns columns;
  const auto* searcher = config.if_contains("searcher");
  if (searcher == nullptr || !searcher->is_object()) return columns;
  const auto& o = searcher->get_object();
  if (const auto* v = o.if_contains("name"); v != nullptr && v->is_string())
    columns.name = v->get_string().c_str();
  if (const auto* v = o.if_contains("metric"); v != nullptr && v->is_string())
    columns.metric = v->get_string().c_str();
  if (const auto* v = o.if_contains("smaller_is_better"); v != nullptr && v->is_bool())
    columns.smaller_is_better = v->get_bool();
  return columns;
}

std::optional<int> retention_days(const json::object& config) {
  const auto* policy = config.if_contains("retention_policy");
  if (policy == nullptr || !policy->is_object()) return std::nullopt;
  const auto* days = policy->get_object().if_contains("log_retention_days");
  const auto number = days == nullptr ? std::nullopt : json::to_int64(*days);
  return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
}

constexpr std::string_view kPut = R"sql(
INSERT INTO experiments (id, state, name, description, notes, labels, model_definition, model_definition_bytes, owner,
                         job_id, resource_pool, start_time, end_time, progress, archived, forked_from, error,
                         project_id, searcher, searcher_metric, smaller_is_better)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET state = excluded.state, name = excluded.name, description = excluded.description, notes = excluded.notes,
    labels = excluded.labels, model_definition = excluded.model_definition,
    model_definition_bytes = excluded.model_definition_bytes, owner = excluded.owner, job_id = excluded.job_id,
    resource_pool = excluded.resource_pool, start_time = excluded.start_time, end_time = excluded.end_time,
    progress = excluded.progress, archived = excluded.archived, forked_from = excluded.forked_from,
    error = excluded.error, project_id = excluded.project_id, searcher = excluded.searcher,
    searcher_metric = excluded.searcher_metric, smaller_is_better = excluded.smaller_is_better
)sql";

// The condition keeps a progress report from writing the whole configuration again.
constexpr std::string_view kPutDocuments = R"sql(
INSERT INTO experiment_documents (experiment_id, config, original_config, git)
VALUES (?, ?, ?, ?)
ON CONFLICT (experiment_id) DO UPDATE
SET config = excluded.config, original_config = excluded.original_config, git = excluded.git
WHERE experiment_documents.config <> excluded.config
   OR experiment_documents.original_config <> excluded.original_config
)sql";

constexpr std::string_view kSelect = R"sql(
SELECT id, state, name, description, notes, labels, config, original_config, model_definition,
       model_definition_bytes, owner, job_id, resource_pool, start_time, end_time, progress, archived, forked_from,
       error, project_id, git
FROM experiments
JOIN experiment_documents ON experiment_id = id
)sql";

ExperimentRecord read_row(Query& query) {
  ExperimentRecord r;
  query.read(r.id, r.state, r.name, r.description, r.notes, Document{r.labels}, Document{r.config},
             r.original_config, r.model_definition, r.model_definition_bytes, r.owner, r.job_id,
             r.resource_pool, r.start_time, r.end_time, r.progress, r.archived, r.forked_from, r.error,
             r.project_id, Document{r.git});
  return r;
}

std::optional<std::vector<std::string>> stored_labels(Connection& connection, ExperimentId id) {
  Query query(connection, "SELECT labels FROM experiments WHERE id = ?");
  query.bind(id);
  return first<std::vector<std::string>>(query, [](Query& row) {
    std::vector<std::string> labels;
    row.read(Document{labels});
    return labels;
  });
}

void put_labels(Connection& connection, const ExperimentRecord& record) {
  Query(connection, "DELETE FROM experiment_labels WHERE experiment_id = ?").bind(record.id).run();
  for (const auto& label : record.labels)
    Query(connection,
          "INSERT INTO experiment_labels (experiment_id, label) VALUES (?, ?) ON CONFLICT DO NOTHING")
        .bind(record.id, label)
        .run();
}

}  // namespace

void put_experiment(Connection& connection, const ExperimentRecord& record) {
  const auto& r = record;
  if (stored_labels(connection, r.id).value_or(std::vector<std::string>{}) != r.labels)
    put_labels(connection, r);
  put_configured_retention(connection, r.id, retention_days(r.config));
  const auto searcher = searcher_columns(r.config);
  Query(connection, kPut)
      .bind(r.id, r.state, r.name, r.description, r.notes, Document{r.labels}, r.model_definition,
            r.model_definition_bytes, r.owner, r.job_id, r.resource_pool, r.start_time, r.end_time,
            r.progress, r.archived, r.forked_from, r.error, r.project_id, searcher.name, searcher.metric,
            searcher.smaller_is_better)
      .run();
  Query(connection, kPutDocuments).bind(r.id, Document{r.config}, r.original_config, Document{r.git}).run();
}

void delete_experiment(Connection& connection, ExperimentId id) {
  static constexpr std::string_view kStatements[] = {
      R"sql(
INSERT INTO purges (kind, id)
SELECT 'trial', id
FROM trials
WHERE experiment_id = ?
ON CONFLICT DO NOTHING
)sql",
      R"sql(
INSERT INTO purges (kind, id)
SELECT 'task', number
FROM log_tasks
WHERE task_id IN (SELECT task_id FROM trials WHERE experiment_id = ?1
                  UNION
                  SELECT task_id FROM allocations WHERE experiment_id = ?1)
ON CONFLICT DO NOTHING
)sql",
      R"sql(
INSERT INTO usage_of_deleted
  (allocation_id, task_id, experiment_id, trial_id, run_id, state, shares, requested, start_time, end_time,
   exit_reason, owner, resource_pool, labels, project_id)
SELECT a.id, task_id, experiment_id, trial_id, run_id, a.state, shares, requested, a.start_time,
       COALESCE(a.end_time, e.end_time, a.start_time), exit_reason, owner, resource_pool, labels, project_id
FROM allocations AS a
JOIN experiments AS e ON e.id = experiment_id
WHERE experiment_id = ? AND a.start_time IS NOT NULL
ON CONFLICT DO NOTHING
)sql",
      "DELETE FROM checkpoints WHERE experiment_id = ?",
      "DELETE FROM deletions WHERE experiment_id = ?",
      "DELETE FROM begun_checkpoints WHERE experiment_id = ?",
      "DELETE FROM allocations WHERE experiment_id = ?",
      "DELETE FROM trial_metadata WHERE trial_id IN (SELECT id FROM trials WHERE experiment_id = ?)",
      "DELETE FROM trial_sources WHERE trial_id IN (SELECT id FROM trials WHERE experiment_id = ?)",
      "DELETE FROM trials WHERE experiment_id = ?",
      R"sql(
DELETE FROM model_definitions
WHERE digest = (SELECT model_definition FROM experiments WHERE id = ?1)
  AND NOT EXISTS (SELECT 1 FROM experiments WHERE model_definition = digest AND id <> ?1)
  AND NOT EXISTS (SELECT 1 FROM tasks WHERE context = digest)
)sql",
      "DELETE FROM experiment_searches WHERE experiment_id = ?",
      "DELETE FROM experiment_labels WHERE experiment_id = ?",
      "DELETE FROM experiment_documents WHERE experiment_id = ?",
      "DELETE FROM experiments WHERE id = ?",
  };
  delete_environments(connection, id);
  delete_unmanaged(connection, id);
  for (const auto sql : kStatements) Query(connection, sql).bind(id).run();
}

void put_search(Connection& connection, const PutSearch& put) {
  Query(connection, R"sql(
INSERT INTO experiment_searches (experiment_id, state)
VALUES (?, ?)
ON CONFLICT (experiment_id) DO UPDATE
SET state = excluded.state
)sql")
      .bind(put.id, Document{put.state})
      .run();
}

std::optional<json::value> read_search(Connection& connection, ExperimentId id) {
  Query query(connection, "SELECT state FROM experiment_searches WHERE experiment_id = ?");
  query.bind(id);
  return first<json::value>(query, [](Query& row) {
    json::value state;
    row.read(Document{state});
    return state;
  });
}

void put_model_definition(Connection& connection, const PutModelDefinition& put) {
  Query(connection,
        "INSERT INTO model_definitions (digest, archive) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING")
      .bind(put.digest, Bytes{put.archive})
      .run();
}

std::vector<ExperimentRecord> read_experiments(Connection& connection) {
  static const auto sql = fmt::format("{}ORDER BY id", kSelect);
  Query query(connection, sql);
  return collect<ExperimentRecord>(query, read_row);
}

std::map<ExperimentId, ExperimentRecord> read_experiments_by_id(Connection& connection,
                                                                const std::vector<ExperimentId>& ids) {
  static const auto sql = fmt::format("{}WHERE id = ?", kSelect);
  std::map<ExperimentId, ExperimentRecord> experiments;
  ask_of_each(
      connection, sql, ids, [](Query& query, ExperimentId id) { query.bind(id); },
      [&](Query& row, ExperimentId id) { experiments.insert_or_assign(id, read_row(row)); });
  return experiments;
}

std::optional<ExperimentRecord> read_experiment(Connection& connection, ExperimentId id) {
  auto found = read_experiments_by_id(connection, {id});
  return found.empty() ? std::nullopt : std::optional(std::move(found.at(id)));
}

std::optional<std::string> read_model_definition(Connection& connection, const std::string& digest) {
  Query query(connection, "SELECT archive FROM model_definitions WHERE digest = ?");
  query.bind(digest);
  return first<std::string>(query, [](Query& row) { return row.get<std::string>(); });
}

}  // namespace det::store
