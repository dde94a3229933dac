#include "det/store/listing.h"

#include "det/base/text.h"
#include "det/store/conditions.h"

namespace det::store {

namespace {

constexpr std::string_view kNumTrials = "(SELECT COUNT(*) FROM trials WHERE experiment_id = experiments.id)";
constexpr std::string_view kCheckpointCount =
    "(SELECT COUNT(*) FROM checkpoints WHERE experiment_id = experiments.id AND state <> 'Deleted')";
constexpr std::string_view kCheckpointBytes =
    "(SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM checkpoints WHERE experiment_id = experiments.id "
    "AND "
    "state <> 'Deleted')";

// A column of the best trial. A metric that is not a number ranks worse than every number.
std::string of_best_trial(const Dialect& dialect, std::string_view column) {
  return fmt::format(R"sql(
(CASE WHEN smaller_is_better <> 0 THEN
   (SELECT {0} FROM trials WHERE experiment_id = experiments.id AND best_metric IS NOT NULL
    ORDER BY {1}, best_metric, id LIMIT 1)
 ELSE
   (SELECT {0} FROM trials WHERE experiment_id = experiments.id AND best_metric IS NOT NULL
    ORDER BY {1}, best_metric DESC, id LIMIT 1)
 END))sql",
                     column, dialect.best_metric_is_nan);
}

std::string column_of(const Dialect& dialect, ExperimentSort sort) {
  switch (sort) {
    case ExperimentSort::Id: return "id";
    case ExperimentSort::Name: return "name";
    case ExperimentSort::Description: return "description";
    case ExperimentSort::State: return "state";
    case ExperimentSort::StartTime: return "start_time";
    case ExperimentSort::EndTime: return "end_time";
    case ExperimentSort::Progress: return "progress";
    case ExperimentSort::Owner: return "owner";
    case ExperimentSort::ResourcePool: return "resource_pool";
    case ExperimentSort::Archived: return "archived";
    case ExperimentSort::ForkedFrom: return "forked_from";
    case ExperimentSort::ProjectId: return "project_id";
    case ExperimentSort::NumTrials: return std::string(kNumTrials);
    case ExperimentSort::CheckpointCount: return std::string(kCheckpointCount);
    case ExperimentSort::CheckpointSize: return std::string(kCheckpointBytes);
    case ExperimentSort::BestMetric: return of_best_trial(dialect, "best_metric");
    case ExperimentSort::Searcher: return "searcher";
    // What still runs has run longest: its end is unknown.
    case ExperimentSort::Duration: return "COALESCE(end_time - start_time, 9e18 - start_time)";
  }
  return "id";
}

Conditions conditions_of(Connection& connection, const ExperimentQuery& query) {
  const auto& dialect = connection.dialect();
  Conditions conditions(connection);
  conditions.add_in("state", names_of(query.states));
  if (query.archived) conditions.add("archived = ?", std::int64_t{*query.archived});
  // What is in an archived place is out of sight too, unless somebody looks into that place.
  if (query.archived && !*query.archived && !query.project_id)
    conditions.add(R"sql(project_id NOT IN (
  SELECT p.id FROM projects p JOIN workspaces w ON w.id = p.workspace_id WHERE ? IN (p.archived, w.archived)))sql",
                   std::int64_t{1});
  if (!query.name.empty())
    conditions.add(fmt::format("{}(lower(name), ?) > 0", dialect.position), to_lower(query.name));
  if (!query.description.empty())
    conditions.add(fmt::format("{}(lower(description), ?) > 0", dialect.position),
                   to_lower(query.description));
  for (const auto& label : query.labels)
    conditions.add("id IN (SELECT experiment_id FROM experiment_labels WHERE label = ?)", label);
  conditions.add_in("owner", numbers_of(query.owners));
  for (const auto& word : query.words) {
    json::array owners;
    for (const auto owner : word.owners) owners.emplace_back(owner.value());
    const auto text = to_lower(word.text);
    conditions.add_all(
        fmt::format(R"sql(({0}(lower(name), ?) > 0 OR {0}(lower(description), ?) > 0 OR id = ?
   OR owner IN {1}
   OR id IN (SELECT experiment_id FROM experiment_labels WHERE {0}(lower(label), ?) > 0)))sql",
                    dialect.position, dialect.integers),
        {text, text, word.id.value_or(ExperimentId()).value(), boost::json::serialize(owners), text});
  }
  if (query.project_id) conditions.add("project_id = ?", *query.project_id);
  if (query.projects) {
    json::array projects(query.projects->begin(), query.projects->end());
    conditions.add(fmt::format("project_id IN {}", dialect.integers), boost::json::serialize(projects));
  }
  conditions.add_in("id", numbers_of(query.ids));
  conditions.add_in("id", numbers_of(query.not_ids), true);
  if (query.min_id) conditions.add("id >= ?", query.min_id->value());
  if (query.max_id) conditions.add("id <= ?", query.max_id->value());
  return conditions;
}

ExperimentSummary read_row(Query& query) {
  ExperimentSummary r;
  std::optional<TrialId> best_trial;
  query.read(r.id, r.state, r.name, r.description, r.notes, Document{r.labels}, r.model_definition_bytes,
             r.owner, r.job_id, r.resource_pool, r.start_time, r.end_time, r.progress, r.archived,
             r.forked_from, r.error, r.project_id, r.searcher, r.searcher_metric, r.num_trials,
             r.checkpoint_count, r.checkpoint_bytes, r.best_metric, best_trial);
  r.best_trial = best_trial.value_or(TrialId());
  return r;
}

}  // namespace

ExperimentList read_experiment_list(Connection& connection, const ExperimentQuery& wanted) {
  const auto conditions = conditions_of(connection, wanted);
  ExperimentList list;
  list.total = count_rows(connection, "experiments", conditions);
  // The inner query chooses the page; only its rows pay for the sums.
  const auto& dialect = connection.dialect();
  const auto column = column_of(dialect, wanted.sort);
  Query query(connection,
              OneTimeSql{fmt::format(R"sql(
SELECT id, state, name, description, notes, labels, model_definition_bytes, owner, job_id, resource_pool, start_time,
       end_time, progress, archived, forked_from, error, project_id, searcher, searcher_metric,
       {} AS num_trials, {} AS checkpoint_count, {} AS checkpoint_bytes, {} AS best_metric, {} AS best_trial
FROM experiments
WHERE id IN (SELECT id FROM experiments {} {})
{}
)sql",
                                     kNumTrials, kCheckpointCount, kCheckpointBytes,
                                     of_best_trial(dialect, "best_metric"), of_best_trial(dialect, "id"),
                                     conditions.where(), order_by(column, wanted.page.descending) + kLimit,
                                     order_by(column, wanted.page.descending))});
  conditions.bind(query);
  bind_page(query, wanted.page, list.total);
  list.experiments = collect<ExperimentSummary>(query, read_row);
  return list;
}

StateCounts read_state_counts(Connection& connection) {
  const auto count = [&](const char* sql, std::map<experiment::State, std::int64_t>& into) {
    Query query(connection, sql);
    while (query.next()) {
      experiment::State state{};
      std::int64_t number = 0;
      query.read(state, number);
      if (state != experiment::State::Deleted) into[state] = number;
    }
  };
  StateCounts counts;
  count("SELECT state, COUNT(*) FROM experiments GROUP BY state", counts.experiments);
  count("SELECT state, COUNT(*) FROM trials GROUP BY state", counts.trials);
  return counts;
}

LastIds read_last_ids(Connection& connection) {
  Query query(
      connection,
      "SELECT (SELECT COALESCE(MAX(id), 0) FROM experiments), (SELECT COALESCE(MAX(id), 0) FROM trials)");
  LastIds last;
  if (query.next()) query.read(last.experiment, last.trial);
  return last;
}

}  // namespace det::store
