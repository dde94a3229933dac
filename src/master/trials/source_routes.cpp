// Which trials evaluate a checkpoint, or go on from it, and what they reported.

#include "det/master/models/registry.h"
#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr const char* kKinds[] = {"TRIAL_SOURCE_INFO_TYPE_INFERENCE", "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"};

struct Source {
  TrialId trial_id;
  std::string checkpoint_uuid, trial_source_info_type;
  std::int32_t model_id = 0, model_version = 0;
  static bool required(std::string_view name) { return name == "trial_id" || name == "checkpoint_uuid"; }
};
BOOST_DESCRIBE_STRUCT(Source, (),
                      (trial_id, checkpoint_uuid, trial_source_info_type, model_id, model_version))
struct SourceRequest {
  Source trial_source_info;
  static bool required(std::string_view name) { return name == "trial_source_info"; }
};
BOOST_DESCRIBE_STRUCT(SourceRequest, (), (trial_source_info))
struct SourceReply {
  TrialId trial_id;
  std::string checkpoint_uuid;
};
BOOST_DESCRIBE_STRUCT(SourceReply, (), (trial_id, checkpoint_uuid))

struct OfCheckpoint {
  std::string checkpoint_uuid, metric_group, trial_source_info_type;
};
BOOST_DESCRIBE_STRUCT(OfCheckpoint, (), (checkpoint_uuid, metric_group, trial_source_info_type))
struct OfVersion {
  std::string model_name, metric_group, trial_source_info_type;
  std::int64_t model_version_num = 0;
};
BOOST_DESCRIBE_STRUCT(OfVersion, (), (model_name, metric_group, trial_source_info_type, model_version_num))
struct ReportsReply {
  std::vector<api::MetricsReport> metrics;
};
BOOST_DESCRIBE_STRUCT(ReportsReply, (), (metrics))

asio::awaitable<Result<SourceReply>> add(Services& s, Context context, SourceRequest request) {
  auto& in = request.trial_source_info;
  const auto who = co_await reporter(s, context.principal, in.trial_id);
  if (!who) co_return tl::unexpected(who.error());
  if (std::find(std::begin(kKinds), std::end(kKinds), in.trial_source_info_type) == std::end(kKinds))
    co_return invalid_argument("trialSourceInfoType is '{}'; it must be {} or {}", in.trial_source_info_type,
                               kKinds[0], kKinds[1]);
  auto read = [&s, uuid = in.checkpoint_uuid] { return s.store.checkpoint(uuid).has_value(); };
  const auto known = co_await offload(s, std::move(read));
  if (!known) co_return not_found("checkpoint '{}' not found", in.checkpoint_uuid);
  std::vector<store::Change> changes;
  changes.push_back(store::PutTrialSource{
      {in.trial_id, in.checkpoint_uuid, in.trial_source_info_type, in.model_id, in.model_version}});
  co_await s.ledger.write(std::move(changes));
  co_return SourceReply{in.trial_id, in.checkpoint_uuid};
}

/// Reads the store: on the pool.
ReportsReply reports_of(store::Store& store, const std::vector<store::TrialSourceRecord>& sources,
                        const std::string& group, const std::string& kind) {
  ReportsReply reply;
  const bool any_kind = kind.empty() || kind == "TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED";
  for (const auto& source : sources) {
    if (!any_kind && source.kind != kind) continue;
    store::MetricQuery query{.trial = source.trial, .group = std::nullopt};
    if (!group.empty()) query.group = group;
    for (const auto& report : store.metrics(query)) reply.metrics.push_back(to_report(report));
  }
  return reply;
}

asio::awaitable<Result<ReportsReply>> of_checkpoint(Services& s, OfCheckpoint in) {
  auto read = [&s, in]() -> Result<ReportsReply> {
    if (!s.store.checkpoint(in.checkpoint_uuid))
      return not_found("checkpoint '{}' not found", in.checkpoint_uuid);
    return reports_of(s.store, s.store.sources_of_checkpoint(in.checkpoint_uuid), in.metric_group,
                      in.trial_source_info_type);
  };
  co_return co_await offload(s, std::move(read));
}

asio::awaitable<Result<ReportsReply>> of_version(Services& s, OfVersion in) {
  const auto* model = s.registry.find(in.model_name);
  if (model == nullptr) co_return not_found("model '{}' not found", in.model_name);
  const auto id = model->id;
  if (s.registry.version(id, in.model_version_num) == nullptr)
    co_return not_found("model '{}' has no version {}", in.model_name, in.model_version_num);
  auto read = [&s, in, id] {
    auto sources = s.store.sources_of_model(id.value());
    std::erase_if(sources, [&](const auto& source) { return source.model_version != in.model_version_num; });
    return reports_of(s.store, sources, in.metric_group, in.trial_source_info_type);
  };
  co_return co_await offload(s, std::move(read));
}

}  // namespace

void add_source_routes(http::Router& router, Services& s) {
  router.add<SourceRequest, SourceReply>(
      Verb::Post, "/api/v1/trial-source-info",
      [&s](Context c, SourceRequest r) { return add(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report that a trial evaluates or fine-tunes a checkpoint",
          .tag = "Trial processes",
          .errors = {ErrorCode::Gone, ErrorCode::NotFound}});
  router.add<OfCheckpoint, ReportsReply>(
      Verb::Get, "/api/v1/checkpoints/{checkpointUuid}/metrics",
      [&s](Context, OfCheckpoint q) { return of_checkpoint(s, std::move(q)); },
      Doc{.summary = "List the metrics of trials that evaluate or fine-tune a checkpoint",
          .tag = "Checkpoints",
          .errors = {ErrorCode::NotFound}});
  router.add<OfVersion, ReportsReply>(
      Verb::Get, "/api/v1/models/{modelName}/versions/{modelVersionNum}/metrics",
      [&s](Context, OfVersion q) { return of_version(s, std::move(q)); },
      Doc{.summary = "List the metrics of trials that evaluate or fine-tune a model version",
          .tag = "Models",
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
