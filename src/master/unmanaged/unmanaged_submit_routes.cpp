// Experiments whose processes run outside the cluster: their configuration.

#include "det/checkpoint/storage.h"
#include "det/config/experiment_config.h"
#include "det/config/yaml/yaml.h"
#include "det/master/experiments/submit.h"
#include "det/master/objects.h"
#include "det/master/unmanaged/unmanaged.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr std::size_t kNameBytesMax = 256;

/// The configuration with what the cluster would need and these experiments do not have: nothing is started,
/// and whatever method the searcher names, nobody runs it here.
Result<config::Resolved> resolve_unmanaged(Services& s, const std::string& yaml) {
  const auto parsed = config::parse_yaml(yaml);
  if (!parsed || !parsed->value.is_object()) return resolve_search(s, yaml);  // which says what is wrong
  auto document = parsed->value.get_object();
  json::object searcher;
  if (const auto* given = document.if_contains("searcher"); given != nullptr && given->is_object())
    searcher = given->get_object();
  json::object stand_in{{"name", "single"}, {"metric", "unmanaged"}};
  for (const auto* key : {"metric", "smaller_is_better"})
    if (const auto* value = searcher.if_contains(key)) stand_in[key] = *value;
  document["searcher"] = stand_in;
  document["entrypoint"] = "runs outside the cluster";
  if (const auto* hparams = document.if_contains("hyperparameters"); hparams != nullptr && hparams->is_null())
    document.erase("hyperparameters");
  DET_TRY(auto resolved, resolve_search(s, json::serialize(document)));
  auto& whole = resolved.config.document;
  whole["entrypoint"] = nullptr;
  auto& shown = whole["searcher"].as_object();
  for (const auto& [key, value] : searcher) shown[key] = value;
  // What is stored must be readable ever after.
  DET_TRY(resolved.config, config::from_document(whole));
  return resolved;
}

}  // namespace

asio::awaitable<Result<SubmitReply>> create_unmanaged(Services& s, Context context, SubmitRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  if (!request.model_definition.empty())
    co_return invalid_argument(
        "an unmanaged experiment cannot have a model definition, because the cluster does not start it; "
        "submit it without files");
  const auto resolved = resolve_unmanaged(s, request.config);
  if (!resolved) co_return tl::unexpected(resolved.error());
  const config::Place place{resolved->config.workspace, resolved->config.project};
  const auto project = co_await project_of(s, context.principal, request, place);
  if (!project) co_return tl::unexpected(project.error());
  auto git = git_of(request);
  if (!git) co_return tl::unexpected(git.error());
  const auto& config = resolved->config;
  experiment::ExperimentRecord record{
      .name = config.name, .description = config.description, .notes = "", .labels = config.labels};
  record.config = config.document;
  record.original_config = request.config;
  record.owner = user->id;
  record.job_id = checkpoint::new_uuid();
  record.start_time = s.ledger.now();
  record.forked_from = request.parent_id;
  record.project_id = project->value();
  record.git = *std::move(git);
  SubmitReply reply{.experiment = {},
                    .config = config::masked(config.document),
                    .warnings = {},
                    .launch_reason = "",
                    .config_warnings = {}};
  if (request.validate_only) {
    reply.experiment = to_api(s, record);
    co_return reply;
  }
  auto by = principal_name(context.principal);
  const auto id = co_await s.unmanaged.create(std::move(record), std::move(request.external_experiment_id),
                                              std::move(by));
  if (!id) co_return tl::unexpected(id.error());
  auto read = [&s, id = *id] { return s.store.experiment(id); };
  const auto stored = co_await offload(s, std::move(read));
  if (!stored) co_return not_found("experiment '{}' not found", *id);
  reply.experiment = to_api(s, *stored);
  reply.config = reply.experiment.config;
  co_return reply;
}

void add_unmanaged_submit_routes(http::Router& router, Services& s) {
  router.add<SubmitRequest, SubmitReply>(
      Verb::Put, "/api/v1/experiments/by-external-id/{externalExperimentId}",
      [&s](Context c, SubmitRequest r) -> asio::awaitable<Result<SubmitReply>> {
        if (!r.unmanaged)
          co_return invalid_argument("unmanaged is false; only unmanaged experiments have external ids");
        if (r.external_experiment_id.size() > kNameBytesMax)
          co_return invalid_argument("externalExperimentId has {} bytes; at most {} are allowed",
                                     r.external_experiment_id.size(), kNameBytesMax);
        co_return co_await create_unmanaged(s, std::move(c), std::move(r));
      },
      Doc{.summary = "Get or create the unmanaged experiment with this external id",
          .tag = "Outside the cluster",
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
