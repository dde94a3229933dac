// Trials as users see them: rows, metrics, workloads.

#include <algorithm>

#include "det/master/experiments/experiment_actions.h"
#include "det/master/lists/list_order.h"
#include "det/master/objects.h"
#include "det/master/services.h"
#include "det/master/trials/curves.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::ItemWriter;
using http::Verb;

struct OfExperiment {
  ExperimentId experiment_id;
  std::vector<std::string> states;
  std::string sort_by, order_by;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(OfExperiment, (), (experiment_id, states, sort_by, order_by, offset, limit))
struct TrialsReply {
  std::vector<api::Trial> trials;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(TrialsReply, (), (trials, pagination))
struct ByTrial {
  TrialId trial_id;
};
BOOST_DESCRIBE_STRUCT(ByTrial, (), (trial_id))
struct ById {
  TrialId id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (id))
struct TrialReply {
  api::Trial trial;
};
BOOST_DESCRIBE_STRUCT(TrialReply, (), (trial))

struct WorkloadsQuery {
  TrialId trial_id;
  std::int32_t offset = 0, limit = 0;
  std::string sort_key, order_by, filter, group, metric_type;
  bool include_batch_metrics = false, remove_deleted_checkpoints = false;
};
BOOST_DESCRIBE_STRUCT(WorkloadsQuery, (),
                      (trial_id, offset, limit, sort_key, order_by, filter, group, metric_type,
                       include_batch_metrics, remove_deleted_checkpoints))
struct WorkloadsReply {
  std::vector<api::Workload> workloads;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(WorkloadsReply, (), (workloads, pagination))

struct MetricsQuery {
  std::vector<TrialId> trial_ids;
  std::string group;
  std::int32_t max_datapoints = 0;  ///< ours, for charts: see store::CurveQuery; 0: all reports
};
BOOST_DESCRIBE_STRUCT(MetricsQuery, (), (trial_ids, group, max_datapoints))
struct MetricsReply {
  std::vector<api::MetricsReport> metrics;
};
BOOST_DESCRIBE_STRUCT(MetricsReply, (), (metrics))

/// Read on the pool.
std::vector<api::Trial> read_trials(store::Store& store,
                                    const std::vector<experiment::TrialRecord>& records) {
  std::map<ExperimentId, std::vector<TrialId>> trials_of;
  for (const auto& record : records) trials_of[record.experiment_id].push_back(record.id);
  std::map<TrialId, store::TrialOverview> overviews;
  for (auto& [id, trials] : trials_of) {
    const auto experiment = store.experiment(id);
    const auto metric = experiment ? searcher_metric(experiment->config) : SearcherMetric{};
    overviews.merge(store.overviews({std::move(trials), metric.name, metric.smaller_is_better}));
  }
  std::vector<api::Trial> trials;
  for (const auto& record : records) trials.push_back(to_api(record, overviews[record.id]));
  return trials;
}

asio::awaitable<Result<TrialsReply>> list(Services& s, OfExperiment in) {
  using S = store::TrialSort;
  static const std::map<std::string, S> kSorts = {{"SORT_BY_ID", S::Id},
                                                  {"SORT_BY_START_TIME", S::StartTime},
                                                  {"SORT_BY_END_TIME", S::EndTime},
                                                  {"SORT_BY_STATE", S::State},
                                                  {"SORT_BY_BATCHES_PROCESSED", S::Batches},
                                                  {"SORT_BY_RESTARTS", S::Restarts},
                                                  {"SORT_BY_BEST_VALIDATION_METRIC", S::BestMetric}};
  auto states = parse_states(in.states);
  if (!states) co_return tl::unexpected(states.error());
  store::TrialQuery query{.experiment = in.experiment_id, .states = *std::move(states)};
  if (const auto known = check_order(in.sort_by, in.order_by); !known)
    co_return tl::unexpected(known.error());
  if (const auto found = kSorts.find(in.sort_by); found != kSorts.end()) query.sort = found->second;
  query.page = {.offset = std::max(in.offset, 0),
                .limit = std::max(in.limit, 0),
                .descending = is_descending(in.order_by)};
  auto read = [&s, id = in.experiment_id] { return s.store.experiment(id).has_value(); };
  const auto known = co_await offload(s, std::move(read));
  if (!known) co_return not_found("experiment '{}' not found", in.experiment_id);
  if (in.offset < 0) {  // counts from the end
    auto read_count = [&s, query] {
      auto only_count = query;
      only_count.page = {.offset = 0, .limit = 1};
      return s.store.list_trials(only_count).total;
    };
    const auto total = co_await offload(s, std::move(read_count));
    query.page.offset = std::max<std::int64_t>(0, total + in.offset);
  }
  auto read_2 = [&s, query] { return s.store.list_trials(query); };
  auto found = co_await offload(s, std::move(read_2));
  TrialsReply reply;
  const auto count = found.trials.size();
  reply.trials = co_await find_trials(s, std::move(found.trials));
  reply.pagination = {
      .offset = in.offset,
      .limit = in.limit,
      .start_index = static_cast<std::int32_t>(query.page.offset),
      .end_index = static_cast<std::int32_t>(query.page.offset + static_cast<std::int64_t>(count)),
      .total = static_cast<std::int32_t>(found.total)};
  co_return reply;
}

asio::awaitable<Result<TrialReply>> one(Services& s, TrialId id) {
  auto trial = co_await find_trial(s, id);
  if (!trial) co_return tl::unexpected(trial.error());
  co_return TrialReply{*std::move(trial)};
}

/// The group that is asked for; empty: all of them, and checkpoints.
Result<std::string> group_of(const WorkloadsQuery& in) {
  static const std::map<std::string, std::string> kTypes = {{"", ""},
                                                            {"METRIC_TYPE_UNSPECIFIED", ""},
                                                            {"METRIC_TYPE_PROFILING", "profiling"},
                                                            {"METRIC_TYPE_TRAINING", "training"},
                                                            {"METRIC_TYPE_VALIDATION", "validation"}};
  const auto found = kTypes.find(in.metric_type);
  if (found == kTypes.end())
    return invalid_argument("metricType is '{}'; it must be METRIC_TYPE_TRAINING or METRIC_TYPE_VALIDATION",
                            in.metric_type);
  return in.group.empty() ? found->second : in.group;
}

/// What of the trial is asked for. InvalidArgument for a filter or a group that there is not.
Result<store::WorkloadQuery> wanted_of(const WorkloadsQuery& in) {
  static const std::map<std::string, store::WorkloadQuery> kFilters = {
      {"", {}},
      {"FILTER_OPTION_UNSPECIFIED", {}},
      {"FILTER_OPTION_TRAINING", {.validation = false, .checkpoints = false}},
      {"FILTER_OPTION_VALIDATION", {.training = false, .checkpoints = false}},
      {"FILTER_OPTION_CHECKPOINT", {.training = false, .validation = false}},
      {"FILTER_OPTION_CHECKPOINT_OR_VALIDATION", {.training = false}}};
  const auto found = kFilters.find(in.filter);
  if (found == kFilters.end())
    return invalid_argument(
        "filter is '{}'; it must be FILTER_OPTION_TRAINING, FILTER_OPTION_VALIDATION, "
        "FILTER_OPTION_CHECKPOINT or FILTER_OPTION_CHECKPOINT_OR_VALIDATION",
        in.filter);
  auto query = found->second;
  if (const auto known = check_order("", in.order_by); !known) return tl::unexpected(known.error());
  DET_TRY(const auto group, group_of(in));
  if (!group.empty()) {
    query.training = query.training && group == "training";
    query.validation = query.validation && group == "validation";
    query.checkpoints = false;
  }
  if (in.sort_key != "batches") query.sort_metric = in.sort_key;
  query.deleted_checkpoints = !in.remove_deleted_checkpoints;
  query.trial = in.trial_id;
  query.offset = in.offset;
  query.limit = std::max(in.limit, 0);
  query.descending = is_descending(in.order_by);
  return query;
}

api::Workload api_workload(const store::WorkloadRecord& record, bool with_batches) {
  api::Workload workload;
  if (const auto* checkpoint = std::get_if<experiment::CheckpointRecord>(&record)) {
    workload.checkpoint = to_workload(*checkpoint);
  } else {
    const auto& report = std::get<experiment::MetricRecord>(record);
    (report.group == "training" ? workload.training : workload.validation) = to_api(report, with_batches);
  }
  return workload;
}

asio::awaitable<Result<WorkloadsReply>> workloads(Services& s, WorkloadsQuery in) {
  const auto query = wanted_of(in);
  if (!query) co_return tl::unexpected(query.error());
  auto read = [&s, query = *query]() -> std::optional<store::WorkloadPage> {
    if (!s.store.trial(query.trial)) return std::nullopt;
    return s.store.workloads(query);
  };
  const auto page = co_await offload(s, std::move(read));
  if (!page) co_return not_found("trial '{}' not found", in.trial_id);
  WorkloadsReply reply;
  for (const auto& record : page->workloads)
    reply.workloads.push_back(api_workload(record, in.include_batch_metrics));
  reply.pagination = {.offset = in.offset,
                      .limit = in.limit,
                      .start_index = static_cast<std::int32_t>(page->offset),
                      .end_index = static_cast<std::int32_t>(
                          page->offset + static_cast<std::int64_t>(page->workloads.size())),
                      .total = static_cast<std::int32_t>(page->total)};
  co_return reply;
}

/// What a chart shows of a trial's reports, read on the pool.
asio::awaitable<std::vector<experiment::MetricRecord>> curve_of(Services& s, TrialId trial, std::string group,
                                                                std::int32_t points) {
  store::CurveQuery query{.trial = trial, .group = std::nullopt};
  if (!group.empty()) query.group = std::move(group);
  query.points = curve_points(points);
  auto read = [&s, query] { return s.store.curve(query); };
  co_return co_await offload(s, std::move(read));
}

asio::awaitable<Result<void>> stream_metrics(Services& s, std::vector<TrialId> trials, std::string group,
                                             std::int32_t points, ItemWriter<MetricsReply>& out) {
  for (const auto id : trials) {
    if (points > 0) {
      const auto reports = co_await curve_of(s, id, group, points);
      MetricsReply reply;
      for (const auto& report : reports) reply.metrics.push_back(to_report(report));
      const bool taken = reports.empty() || co_await out.write(reply);
      if (!taken) co_return Result<void>{};
      continue;
    }
    store::MetricQuery query{.trial = id, .group = std::nullopt, .after_batches = -1, .limit = 1000};
    if (!group.empty()) query.group = group;
    while (true) {
      auto read = [&s, query] { return s.store.metrics(query); };
      const auto reports = co_await offload(s, std::move(read));
      if (reports.empty()) break;
      MetricsReply reply;
      for (const auto& report : reports) reply.metrics.push_back(to_report(report));
      query.after_batches = reports.back().batches;
      const bool taken = co_await out.write(reply);
      if (!taken) co_return Result<void>{};
    }
  }
  co_return Result<void>{};
}

struct Follow {
  TrialId trial_id;
  std::int32_t max_datapoints = 0;  ///< of what is there already; 0: all
};
BOOST_DESCRIBE_STRUCT(Follow, (), (trial_id, max_datapoints))

/// Every report of a trial, and new ones as they come, until it is over. Ours, for live charts.
asio::awaitable<Result<void>> follow_metrics(Services& s, TrialId id, std::int32_t points,
                                             ItemWriter<MetricsReply>& out) {
  std::set<std::pair<std::string, std::int64_t>> sent;  // (group, batches); a later run repeats equal values
  std::int64_t after = -1;
  Watch watch(s.ledger, Ledger::metric_key(id));  // before the read: what comes during it rings
  while (true) {
    const auto* live = s.ledger.cluster().trial(id);
    const bool over =
        (live == nullptr || experiment::is_terminal(live->record.state)) && !s.unmanaged.active(id);
    if (over) co_await s.ledger.durable();  // what was reported before the end can be read then
    std::vector<experiment::MetricRecord> reports;
    if (after < 0 && points > 0) {
      reports = co_await curve_of(s, id, "", points);
    } else {
      auto read = [&s, id, after] {
        return s.store.metrics({.trial = id, .group = std::nullopt, .after_batches = after});
      };
      reports = co_await offload(s, std::move(read));
    }
    MetricsReply reply;
    for (const auto& report : reports) {
      if (sent.emplace(report.group, report.batches).second) reply.metrics.push_back(to_report(report));
      after = std::max(after, report.batches - 1);  // another group may still report at the same batches
    }
    if (!reply.metrics.empty()) {
      const bool taken = co_await out.write(reply);
      if (!taken) co_return Result<void>{};
    }
    if (over) co_return Result<void>{};
    std::erase_if(sent, [after](const auto& key) { return key.second <= after; });  // never read again
    co_await watch.wait(std::chrono::milliseconds(15'000));  // in which one who hung up is noticed
    const bool alive = co_await out.alive();
    if (!alive) co_return Result<void>{};
  }
}

}  // namespace

namespace {

/// A number for a report, always the same for the same one: FNV-1a of what names it.
std::int32_t number_of(const experiment::MetricRecord& r) {
  std::uint32_t hash = 2166136261u;
  for (const char c : fmt::format("{}/{}/{}", r.trial_id, r.group, r.batches))
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<std::int32_t>(hash & 0x7fffffffu);
}

}  // namespace

api::MetricsReport to_report(const experiment::MetricRecord& r) {
  api::MetricsReport report{.trial_id = r.trial_id,
                            .end_time = Time{r.report_time.microseconds / 1000 * 1000},
                            .trial_run_id = static_cast<std::int32_t>(r.run_id),
                            .total_batches = static_cast<std::int32_t>(r.batches),
                            .id = number_of(r),
                            .archived = false,
                            .group = r.group,
                            .metrics = {},
                            .num_inputs = static_cast<std::int32_t>(r.records)};
  report.metrics[r.group == "validation" ? "validation_metrics" : "avg_metrics"] = r.avg_metrics;
  if (!r.batch_metrics.empty()) report.metrics["batch_metrics"] = r.batch_metrics;
  return report;
}

asio::awaitable<std::vector<api::Trial>> find_trials(Services& s,
                                                     std::vector<experiment::TrialRecord> records) {
  auto read = [&s, &records] { return read_trials(s.store, records); };
  auto trials = co_await offload(s, std::move(read));
  for (std::size_t i = 0; i < trials.size(); ++i) complete_trial(s, records[i], trials[i]);
  co_await s.ledger.durable();
  co_return trials;
}

asio::awaitable<Result<api::Trial>> find_trial(Services& s, TrialId id) {
  auto read = [&s, id] { return s.store.trial(id); };
  auto record = co_await offload(s, std::move(read));
  if (!record) co_return not_found("trial '{}' not found", id);
  std::vector<experiment::TrialRecord> records;
  records.push_back(*std::move(record));
  auto trials = co_await find_trials(s, std::move(records));
  co_return std::move(trials.front());
}

asio::awaitable<Result<Empty>> kill_trial(Services& s, Context context, TrialId id) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  if (s.ledger.cluster().trial(id) == nullptr) {
    auto read = [&s, id] { return s.store.trial(id).has_value(); };
    const auto known = co_await offload(s, std::move(read));
    if (!known) co_return not_found("trial '{}' not found", id);
    if (s.unmanaged.active(id))
      co_return failed_precondition(
          "trial {} is unmanaged: it runs outside the cluster and cannot be killed here; stop its process "
          "where it runs",
          id);
    co_return Empty{};  // it is over already
  }
  cluster::Event event = cluster::TrialKilled{id};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

void add_trial_routes(http::Router& router, Services& s) {
  const std::string tag = "Trials";
  const std::vector<ErrorCode> missing = {ErrorCode::NotFound};
  router.add<OfExperiment, TrialsReply>(
      Verb::Get, "/api/v1/experiments/{experimentId}/trials",
      [&s](Context, OfExperiment q) { return list(s, std::move(q)); },
      Doc{.summary = "List the trials of an experiment", .tag = tag, .errors = missing});
  router.add<ByTrial, TrialReply>(
      Verb::Get, "/api/v1/trials/{trialId}", [&s](Context, ByTrial q) { return one(s, q.trial_id); },
      Doc{.summary = "Get a trial", .tag = tag, .errors = missing});
  router.add<WorkloadsQuery, WorkloadsReply>(
      Verb::Get, "/api/v1/trials/{trialId}/workloads",
      [&s](Context, WorkloadsQuery q) { return workloads(s, std::move(q)); },
      Doc{.summary = "List the training, validation and checkpoint steps of a trial, by batches",
          .tag = tag,
          .errors = missing});
  router.add<ById, Empty>(
      Verb::Post, "/api/v1/trials/{id}/kill",
      [&s](Context c, ById q) { return kill_trial(s, std::move(c), q.id); },
      Doc{.summary = "Kill a trial", .tag = tag, .errors = missing});
  for (const auto& [path, group] : {std::pair{"trial_metrics", ""}, std::pair{"training_metrics", "training"},
                                    std::pair{"validation_metrics", "validation"}})
    router.add_stream<MetricsQuery, MetricsReply>(
        Verb::Get, fmt::format("/api/v1/trials/metrics/{}", path),
        [&s, group = std::string(group)](Context, MetricsQuery q, ItemWriter<MetricsReply>& out) {
          return stream_metrics(s, q.trial_ids, group.empty() ? q.group : group, q.max_datapoints, out);
        },
        Doc{.summary =
                "Get the reported metrics of several trials; `maxDatapoints` thins them out for a chart",
            .tag = tag});
  router.add_stream<Follow, MetricsReply>(
      Verb::Get, "/api/v1/trials/{trialId}/metrics/follow",
      [&s](Context, Follow q, ItemWriter<MetricsReply>& out) {
        return follow_metrics(s, q.trial_id, q.max_datapoints, out);
      },
      Doc{.summary =
              "Follow the reported metrics of a trial; `maxDatapoints` thins out the past ones for a chart",
          .tag = tag});
}

}  // namespace det::master
