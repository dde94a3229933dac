// What of the experiments of a project can be shown in columns and filtered by.

#include <cmath>
#include <set>

#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"
#include "det/master/workspaces/workspace_objects.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct ColumnsQuery {
  std::int64_t id = 0;
  std::string table_type;
};
BOOST_DESCRIBE_STRUCT(ColumnsQuery, (), (id, table_type))
struct Column {
  std::string column, location, type, display_name;
};
BOOST_DESCRIBE_STRUCT(Column, (), (column, location, type, display_name))
struct ColumnsReply {
  std::vector<Column> columns;
};
BOOST_DESCRIBE_STRUCT(ColumnsReply, (), (columns))
struct RangesQuery {
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(RangesQuery, (), (id))
struct Range {
  std::string metrics_name;
  double min = 0, max = 0;
};
BOOST_DESCRIBE_STRUCT(Range, (), (metrics_name, min, max))
struct RangesReply {
  std::vector<Range> ranges;
};
BOOST_DESCRIBE_STRUCT(RangesReply, (), (ranges))
struct MetadataQuery {
  std::int64_t project_id = 0;
  std::string key;
};
BOOST_DESCRIBE_STRUCT(MetadataQuery, (), (project_id, key))
struct ProjectMetadataReply {
  std::vector<std::string> values;
};
BOOST_DESCRIBE_STRUCT(ProjectMetadataReply, (), (values))
struct LabelsQuery {
  std::int64_t project_id = 0;
};
BOOST_DESCRIBE_STRUCT(LabelsQuery, (), (project_id))
struct ProjectLabelsReply {
  std::vector<std::string> labels;
};
BOOST_DESCRIBE_STRUCT(ProjectLabelsReply, (), (labels))

constexpr const char* kText = "COLUMN_TYPE_TEXT";
constexpr const char* kNumber = "COLUMN_TYPE_NUMBER";
constexpr const char* kDate = "COLUMN_TYPE_DATE";

struct Plain {
  const char *column, *type, *name;
};
constexpr Plain kExperimentColumns[] = {{"id", kNumber, "ID"},
                                        {"name", kText, "Name"},
                                        {"description", kText, "Description"},
                                        {"tags", "COLUMN_TYPE_ARRAY", "Tags"},
                                        {"forkedFrom", kNumber, "Forked"},
                                        {"externalExperimentId", kText, "External Experiment ID"},
                                        {"startTime", kDate, "Started"},
                                        {"endTime", kDate, "Ended"},
                                        {"duration", kNumber, "Duration"},
                                        {"numTrials", kNumber, "Trials"},
                                        {"state", kText, "State"},
                                        {"searcherType", kText, "Searcher"},
                                        {"resourcePool", kText, "Resource Pool"},
                                        {"progress", kNumber, "Progress"},
                                        {"checkpointSize", kNumber, "Checkpoint Size"},
                                        {"checkpointCount", kNumber, "Checkpoints"},
                                        {"user", kText, "User"},
                                        {"searcherMetric", kText, "Searcher Metric"},
                                        {"searcherMetricsVal", kNumber, "Searcher Metric Value"},
                                        {"projectId", kNumber, "Project ID"},
                                        {"archived", kText, "Archived"}};
constexpr Plain kRunColumns[] = {{"experimentId", kNumber, "Search ID"},
                                 {"experimentName", kText, "Search Name"},
                                 {"experimentDescription", kText, "Search Description"},
                                 {"experimentProgress", kNumber, "Search Progress"},
                                 {"isExpMultitrial", kText, "Part of Search"}};

std::vector<ExperimentId> experiments_in(store::Store& store, std::int64_t project) {
  store::ExperimentQuery query;
  if (project > 0) query.project_id = project;
  std::vector<ExperimentId> ids;
  for (const auto& summary : store.list_experiments(query).experiments) ids.push_back(summary.id);
  return ids;
}

/// "optimizer.lr" and its type, for each leaf.
void add_hparams(const json::object& hparams, const std::string& prefix,
                 std::map<std::string, std::string>& found) {
  for (const auto& [key, value] : hparams) {
    const auto name = prefix + std::string(key);
    if (!value.is_object())
      found.emplace(name, value.is_number() ? kNumber : kText);
    else if (!value.get_object().contains("type"))
      add_hparams(value.get_object(), name + ".", found);
    else if (const auto* constant = value.get_object().if_contains("val"))
      found.emplace(name, constant->is_number() ? kNumber : kText);
    else
      found.emplace(name, kNumber);
  }
}

struct SummaryColumn {
  std::string group, name;
  bool number = false;
  double min = INFINITY, max = -INFINITY;
};

/// Of all metrics of the project's trials, by "group.name"; reads the store: on the pool.
std::map<std::string, SummaryColumn> metrics_in(store::Store& store, std::int64_t project) {
  std::map<std::string, SummaryColumn> found;
  for (const auto id : experiments_in(store, project))
    for (const auto& [trial, summary] : store.summaries(trial_ids(store.trials(id))))
      for (const auto& [key, metrics] : summary) {
        const std::string group = key == "avg_metrics"          ? "training"
                                  : key == "validation_metrics" ? "validation"
                                                                : std::string(key);
        if (!metrics.is_object()) continue;
        for (const auto& [name, sums] : metrics.get_object()) {
          auto& column = found[fmt::format("{}.{}", group, std::string_view(name))];
          column.group = group;
          column.name = name;
          const auto& o = sums.get_object();
          const auto *least = o.if_contains("min"), *most = o.if_contains("max");
          if (least == nullptr || most == nullptr) continue;
          column.number = true;
          column.min = std::fmin(column.min, json::to_double(*least).value_or(NAN));
          column.max = std::fmax(column.max, json::to_double(*most).value_or(NAN));
        }
      }
  return found;
}

ColumnsReply columns(store::Store& store, const ColumnsQuery& q) {
  const bool runs = q.table_type == "TABLE_TYPE_RUN";
  const std::string place = runs ? "LOCATION_TYPE_RUN" : "LOCATION_TYPE_EXPERIMENT";
  ColumnsReply reply;
  for (const auto& [column, type, name] : kExperimentColumns)
    reply.columns.push_back({column, place, type, name});
  if (runs)
    for (const auto& [column, type, name] : kRunColumns) reply.columns.push_back({column, place, type, name});
  std::map<std::string, std::string> hparams;
  for (const auto id : experiments_in(store, q.id))
    if (const auto record = store.experiment(id))
      if (const auto* found = record->config.if_contains("hyperparameters");
          found != nullptr && found->is_object())
        add_hparams(found->get_object(), "", hparams);
  for (const auto& [name, type] : hparams)
    reply.columns.push_back({"hp." + name,
                             runs ? "LOCATION_TYPE_RUN_HYPERPARAMETERS" : "LOCATION_TYPE_HYPERPARAMETERS",
                             type, ""});
  for (const auto& [id, metric] : metrics_in(store, q.id)) {
    const auto* where = metric.group == "training"     ? "LOCATION_TYPE_TRAINING"
                        : metric.group == "validation" ? "LOCATION_TYPE_VALIDATIONS"
                                                       : "LOCATION_TYPE_CUSTOM_METRIC";
    if (!metric.number) {
      reply.columns.push_back({id + ".last", where, kText, ""});
      continue;
    }
    for (const auto* sum : {"last", "max", "mean", "min"})
      reply.columns.push_back({fmt::format("{}.{}", id, sum), where, kNumber, ""});
  }
  return reply;
}

RangesReply ranges(store::Store& store, std::int64_t project) {
  RangesReply reply;
  for (const auto& [id, metric] : metrics_in(store, project))
    if (metric.number && std::isfinite(metric.min) && std::isfinite(metric.max))
      for (const auto* sum : {"last", "max", "mean", "min"})
        reply.ranges.push_back({fmt::format("{}.{}", id, sum), metric.min, metric.max});
  return reply;
}

ProjectMetadataReply metadata_values(store::Store& store, const MetadataQuery& q) {
  std::set<std::string> values;
  for (const auto id : experiments_in(store, q.project_id))
    for (const auto& trial : store.trials(id))
      if (const auto said = store.trial_metadata(trial.id)) {
        json::value at = *said;
        for (std::size_t begin = 0; begin <= q.key.size() && !at.is_null();) {
          const auto end = std::min(q.key.find('.', begin), q.key.size());
          const auto* next =
              at.is_object() ? at.get_object().if_contains(q.key.substr(begin, end - begin)) : nullptr;
          at = next == nullptr ? json::value() : json::value(*next);
          begin = end + 1;
        }
        if (at.is_string()) values.insert(std::string(at.get_string()));
      }
  return {{values.begin(), values.end()}};
}

/// Those used most first.
ProjectLabelsReply labels(store::Store& store, std::int64_t project,
                          std::optional<std::vector<std::int64_t>> seen) {
  store::ExperimentQuery query;
  query.projects = std::move(seen);
  if (project > 0) query.project_id = project;
  std::map<std::string, int> counts;
  for (const auto& summary : store.list_experiments(query).experiments)
    for (const auto& label : summary.labels) ++counts[label];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  ProjectLabelsReply reply;
  for (auto& [label, count] : sorted) reply.labels.push_back(std::move(label));
  return reply;
}

/// A read of a project that exists.
template <class Reply, class Query, class F>
asio::awaitable<Result<Reply>> of_project(Services& s, std::int64_t id, Query q, F read) {
  if (const auto project = find_project(s, ProjectId(id)); !project)
    co_return tl::unexpected(project.error());
  auto work = [&s, q, read] { return read(s.store, q); };
  co_return co_await offload(s, std::move(work));
}

}  // namespace

void add_project_column_routes(http::Router& router, Services& s) {
  const std::string tag = "Projects";
  const std::vector<ErrorCode> missing = {ErrorCode::NotFound};
  router.add<ColumnsQuery, ColumnsReply>(
      Verb::Get, "/api/v1/projects/{id}/columns",
      [&s](Context, ColumnsQuery q) { return of_project<ColumnsReply>(s, q.id, q, columns); },
      Doc{.summary =
              "List the columns by which the experiments or runs of a project can be filtered and sorted",
          .tag = tag,
          .errors = missing});
  router.add<RangesQuery, RangesReply>(
      Verb::Get, "/api/v1/projects/{id}/experiments/metric-ranges",
      [&s](Context, RangesQuery q) { return of_project<RangesReply>(s, q.id, q.id, ranges); },
      Doc{.summary = "Get the smallest and the largest value of each metric in a project",
          .tag = tag,
          .errors = missing});
  router.add<MetadataQuery, ProjectMetadataReply>(
      Verb::Get, "/api/v1/projects/{projectId}/metadata/{key}",
      [&s](Context, MetadataQuery q) {
        return of_project<ProjectMetadataReply>(s, q.project_id, q, metadata_values);
      },
      Doc{.summary = "List the text values of a metadata key among the trials of a project",
          .tag = tag,
          .errors = missing});
  router.add<LabelsQuery, ProjectLabelsReply>(
      Verb::Get, "/api/v1/experiment/labels",
      [&s](Context c, LabelsQuery q) -> asio::awaitable<Result<ProjectLabelsReply>> {
        auto seen = Sight(s, c.principal, access::Permission::ViewExperimentMetadata).projects();
        auto read = [&s, id = q.project_id, seen = std::move(seen)] { return labels(s.store, id, seen); };
        co_return co_await offload(s, std::move(read));
      },
      Doc{.summary =
              "List the labels of the experiments of one project or of all projects, the most used first",
          .tag = "Experiments"});
}

}  // namespace det::master
