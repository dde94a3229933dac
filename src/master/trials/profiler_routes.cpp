// What the profilers of trials measured of their machines, as older clients ask for it: series of numbers
// with labels. It is stored as any report, under the groups of det.core's profiler; see
// python/determined/core/_profiler.py.

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::ItemWriter;
using http::Verb;

constexpr std::array kGroups = {"cpu", "memory", "disk", "network", "gpu"};

struct Labels {
  TrialId trial_id;
  std::string name, agent_id;
  std::string gpu_uuid;  ///< or which disk
  std::string metric_type = "PROFILER_METRIC_TYPE_SYSTEM";
};
BOOST_DESCRIBE_STRUCT(Labels, (), (trial_id, name, agent_id, gpu_uuid, metric_type))
struct OfTrial {
  TrialId trial_id;
};
BOOST_DESCRIBE_STRUCT(OfTrial, (), (trial_id))
struct ProfilerSeriesReply {
  std::vector<Labels> labels;
};
BOOST_DESCRIBE_STRUCT(ProfilerSeriesReply, (), (labels))
struct ValuesQuery {
  TrialId trial_id;
  std::string labels_name, labels_agent_id, labels_gpu_uuid, labels_metric_type;
};
BOOST_DESCRIBE_STRUCT(ValuesQuery, (),
                      (trial_id, labels_name, labels_agent_id, labels_gpu_uuid, labels_metric_type))
struct Batch {
  std::vector<double> values;
  std::vector<std::int32_t> batches;  ///< empty: what was trained by then is not recorded
  std::vector<Time> timestamps;
  Labels labels;
};
BOOST_DESCRIBE_STRUCT(Batch, (), (values, batches, timestamps, labels))
struct ValuesReply {
  Batch batch;
};
BOOST_DESCRIBE_STRUCT(ValuesReply, (), (batch))

/// One series: agent, name of what is measured, GPU or disk.
using Series = std::tuple<std::string, std::string, std::string>;

/// Calls `use` with every number of a report of the profiler.
template <typename Use>
void for_each_number(const experiment::MetricRecord& report, const Use& use) {
  for (const auto& [agent, measured] : report.avg_metrics) {
    if (!measured.is_object()) continue;
    for (const auto& [name, value] : measured.get_object()) {
      if (const auto number = json::to_double(value)) use(Series{agent, name, ""}, *number);
      if (!value.is_object()) continue;
      for (const auto& [inner, one] : value.get_object())
        if (const auto number = json::to_double(one)) use(Series{agent, inner, name}, *number);
    }
  }
}

Labels labels_of(TrialId trial, const Series& series) {
  const auto& [agent, name, part] = series;
  return {.trial_id = trial, .name = name, .agent_id = agent, .gpu_uuid = part};
}

std::vector<experiment::MetricRecord> measured(store::Store& store, TrialId trial) {
  std::vector<experiment::MetricRecord> all;
  for (const auto* group : kGroups)
    for (auto& report : store.metrics({.trial = trial, .group = group})) all.push_back(std::move(report));
  return all;
}

asio::awaitable<Result<void>> series(Services& s, TrialId trial, ItemWriter<ProfilerSeriesReply>& out) {
  auto read = [&s, trial] { return measured(s.store, trial); };
  const auto reports = co_await offload(s, std::move(read));
  std::set<Series> found;
  for (const auto& report : reports)
    for_each_number(report, [&](Series one, double) { found.insert(std::move(one)); });
  ProfilerSeriesReply reply;
  for (const auto& one : found) reply.labels.push_back(labels_of(trial, one));
  co_await out.write(reply);
  co_return Result<void>{};
}

asio::awaitable<Result<void>> values(Services& s, ValuesQuery q, ItemWriter<ValuesReply>& out) {
  auto read = [&s, trial = q.trial_id] { return measured(s.store, trial); };
  const auto reports = co_await offload(s, std::move(read));
  const auto wanted = [](const std::string& asked, const std::string& is) {
    return asked.empty() || asked == is;
  };
  std::map<Series, Batch> found;
  for (const auto& report : reports)
    for_each_number(report, [&](const Series& one, double value) {
      const auto& [agent, name, part] = one;
      if (!wanted(q.labels_name, name) || !wanted(q.labels_agent_id, agent) ||
          !wanted(q.labels_gpu_uuid, part))
        return;
      auto& batch = found[one];
      batch.values.push_back(value);
      batch.timestamps.push_back(report.report_time);
    });
  for (auto& [one, batch] : found) {
    batch.labels = labels_of(q.trial_id, one);
    const ValuesReply reply{std::move(batch)};
    const bool taken = co_await out.write(reply);
    if (!taken) break;
  }
  co_return Result<void>{};
}

asio::awaitable<http::Response> refuse_batches(http::Request, std::any) {
  co_return http::error_response(
      Error(ErrorCode::Unimplemented,
            "profiler batches are not supported; report measurements as metrics with core.ProfilerContext"));
}

}  // namespace

void add_profiler_routes(http::Router& router, Services& s) {
  const std::string tag = "Trials";
  router.add_stream<OfTrial, ProfilerSeriesReply>(
      Verb::Get, "/api/v1/trials/{trialId}/profiler/available_series",
      [&s](Context, OfTrial q, ItemWriter<ProfilerSeriesReply>& out) { return series(s, q.trial_id, out); },
      Doc{.summary = "List the series that the profiler of a trial has measured", .tag = tag});
  router.add_stream<ValuesQuery, ValuesReply>(
      Verb::Get, "/api/v1/trials/{trialId}/profiler/metrics",
      [&s](Context, ValuesQuery q, ItemWriter<ValuesReply>& out) { return values(s, std::move(q), out); },
      Doc{.summary = "Get the profiler measurements of a trial, series by series", .tag = tag});
  router.add_closed_raw(Verb::Post, "/api/v1/trials/profiler/metrics", refuse_batches);
}

}  // namespace det::master
