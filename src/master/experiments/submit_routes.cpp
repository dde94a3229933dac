// Submitting experiments: configuration, files, template; and previewing searches.

#include <sodium.h>

#include "det/checkpoint/storage.h"
#include "det/config/experiment_config.h"
#include "det/config/yaml/yaml.h"
#include "det/master/checkpoints/collector.h"
#include "det/master/experiments/names.h"
#include "det/master/experiments/submit.h"
#include "det/master/experiments/warm_start.h"
#include "det/master/logs/log_policies.h"
#include "det/master/objects.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/rights/rights.h"
#include "det/master/workspaces/workspaces.h"
#include "det/search/preview.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct PreviewRequest {
  json::value config;
  std::int32_t seed = 0;
};
BOOST_DESCRIBE_STRUCT(PreviewRequest, (), (config, seed))
/// Without name and value: to completion.
struct SearchUnit {
  std::optional<std::string> name;
  std::optional<std::int32_t> value;
  bool max_length = false;
};
BOOST_DESCRIBE_STRUCT(SearchUnit, (), (name, value, max_length))
struct TrialSummary {
  std::int32_t count = 0;
  SearchUnit unit;
};
BOOST_DESCRIBE_STRUCT(TrialSummary, (), (count, unit))
/// Where each of these trials validates.
struct Validations {
  std::int32_t count = 0;
  std::vector<std::int64_t> lengths;
};
BOOST_DESCRIBE_STRUCT(Validations, (), (count, lengths))
/// Ours: what searches with `max_length` or `max_steps` were told of.
struct Breakdown {
  std::string unit;  ///< "steps" with `max_steps`; empty: the trials' own
  std::vector<Validations> trials;
};
BOOST_DESCRIBE_STRUCT(Breakdown, (), (unit, trials))
struct SearchSummary {
  json::value config;
  std::vector<TrialSummary> trials;
  std::optional<Breakdown> breakdown;
};
BOOST_DESCRIBE_STRUCT(SearchSummary, (), (config, trials, breakdown))
struct PreviewReply {
  SearchSummary summary;
};
BOOST_DESCRIBE_STRUCT(PreviewReply, (), (summary))

Result<config::Layers> layers_of(Services& s, const std::string& yaml, const std::string& template_name) {
  config::Layers layers{.master = s.defaults, .template_yaml = std::nullopt, .user_yaml = yaml};
  if (template_name.empty()) return layers;
  for (const auto& known : s.store.templates())
    if (known.name == template_name) layers.template_yaml = known.yaml;
  if (!layers.template_yaml) return not_found("template '{}' not found", template_name);
  return layers;
}

/// The workspace's own storage lies over the cluster's, whose fields stay where both are of one type.
void put_storage_of_workspace(Services& s, ProjectId id, config::Layers& layers) {
  const auto* project = s.workspaces.project(id);
  const auto* workspace = project == nullptr ? nullptr : s.workspaces.find(project->workspace);
  if (workspace == nullptr || !workspace->checkpoint_storage.is_object()) return;
  const auto& own = workspace->checkpoint_storage.get_object();
  auto& storage = layers.master["checkpoint_storage"];
  const auto type_of = [](const json::value& of) {
    return of.is_object() ? json::text_member(of.get_object(), "type") : std::string();
  };
  const bool same =
      storage.is_object() && (!own.contains("type") || type_of(storage) == json::text_member(own, "type"));
  if (!same) storage = json::object();
  for (const auto& [name, value] : own) storage.get_object()[name] = value;
}

/// What the policies allow; what the configuration leaves open is set to it.
Result<void> keep_to_limits(Services& s, const config::Policies& policies, config::ExperimentConfig& config) {
  if (policies.empty()) return {};
  const auto& cluster = s.ledger.cluster();
  const auto usual = cluster.pool(cluster.pool_for(config)).default_priority;
  auto document = std::move(config.document);
  if (const auto errors = config::limit(config::Workload::Experiment, document, policies, usual);
      !errors.empty())
    return tl::unexpected(join_errors(errors));
  DET_TRY(config, config::from_document(document));
  return {};
}

}  // namespace

Result<config::Resolved> resolve_search(Services& s, const std::string& yaml) {
  DET_TRY(auto layers, layers_of(s, yaml, ""));
  layers.master.emplace("entrypoint", "only_the_search:IsAsked");
  return resolve(s, layers, {});
}

Result<config::Resolved> resolve(Services& s, const config::Layers& layers,
                                 const config::Policies& policies) {
  const config::Circumstances circumstances{
      .now = s.ledger.now(), .pet_name = pet_name(), .resource_pools = s.ledger.cluster().resource_pools()};
  auto resolved = config::resolve(layers, circumstances, policies);
  if (!resolved) return tl::unexpected(join_errors(resolved.error()));
  if (auto within = keep_to_limits(s, policies, resolved->config); !within)
    return tl::unexpected(std::move(within).error());
  return *std::move(resolved);
}

namespace {

/// A warm start needs its checkpoint now, not when the trial starts: what keeps it until the trials do.
asio::awaitable<Result<std::shared_ptr<Collector::Hold>>> find_warm_start(Services& s,
                                                                          config::Resolved& resolved) {
  auto& searcher = resolved.config.searcher;
  std::string uuid;
  if (searcher.source_trial_id) {
    const auto trial = s.store.trial(TrialId{*searcher.source_trial_id});
    if (!trial || trial->latest_checkpoint.empty())
      co_return invalid_argument("no checkpoint found for source trial {}", *searcher.source_trial_id);
    uuid = trial->latest_checkpoint;
  } else if (searcher.source_checkpoint_uuid) {
    uuid = *searcher.source_checkpoint_uuid;
  } else {
    co_return nullptr;
  }
  auto held = co_await hold_source(s, resolved.config.checkpoint_storage, uuid);
  if (held) resolved.config.document["searcher"].as_object()["source_checkpoint_uuid"] = uuid;
  co_return held;
}

/// What the new experiment would read: the code of its parent, the weights that it starts from.
asio::awaitable<Result<void>> may_start_from(Services& s, const std::any& principal,
                                             const SubmitRequest& request,
                                             const config::ExperimentConfig& config) {
  using access::Permission;
  std::vector<std::pair<Kind, json::value>> sources;
  if (request.parent_id) {
    auto read = [&s, id = *request.parent_id] { return s.store.experiment(id); };
    const auto parent = co_await offload(s, std::move(read));
    if (!parent || parent->state == experiment::State::Deleted)
      co_return not_found("experiment '{}', given by parentId, not found", *request.parent_id);
    sources.emplace_back(Kind::Experiment, request.parent_id->value());
  }
  if (config.searcher.source_trial_id) sources.emplace_back(Kind::Trial, *config.searcher.source_trial_id);
  if (config.searcher.source_checkpoint_uuid)
    sources.emplace_back(Kind::Checkpoint, *config.searcher.source_checkpoint_uuid);
  for (const auto& [kind, id] : sources) {
    const auto allowed = co_await may(s, principal, Permission::ViewExperimentArtifacts, kind, id);
    if (!allowed) co_return tl::unexpected(allowed.error());
  }
  co_return Result<void>{};
}

/// What the cluster as it is now could never run, in words.
std::optional<std::string> never_fits(Services& s, const config::ExperimentConfig& config,
                                      const std::string& pool) {
  const auto& cluster = s.ledger.cluster();
  auto agents = cluster.scheduler_agents(pool);
  if (agents.empty()) return std::nullopt;  // none has come yet
  for (auto& agent : agents) {              // what is disabled can be enabled again
    agent.enabled = true;
    agent.draining = false;
    for (auto& slot : agent.slots) slot.enabled = true;
  }
  scheduler::Request request;
  request.label = config.resources.agent_label;
  request.attributes = config.resources.agent_attributes;
  request.slots = static_cast<int>(config.resources.slots_per_trial);
  request.single_agent = config.resources.single_node;
  return scheduler::never_fits(agents, request, scheduler_options(cluster.pool(pool)).fitting);
}

std::string template_of(const http::Request& request) {
  const auto body = json::parse(request.body);
  if (!body || !body->is_object()) return "";
  const auto* name = body->get_object().if_contains("template");
  return name != nullptr && name->is_string() ? std::string(name->get_string()) : "";
}

}  // namespace

Result<json::object> git_of(const SubmitRequest& r) {
  json::object git;
  for (const auto& [name, text] : {std::pair{"commit", &r.git_commit},
                                   {"remote", &r.git_remote},
                                   {"branch", &r.git_branch},
                                   {"committer", &r.git_committer},
                                   {"commit_date", &r.git_commit_date}}) {
    if (text->size() > 4096)
      return invalid_argument("the {} of the git commit has {} bytes; at most 4096 are allowed", name,
                              text->size());
    if (!text->empty()) git[name] = *text;
  }
  if (r.git_dirty && !git.empty()) git["dirty"] = *r.git_dirty;
  return git;
}

asio::awaitable<Result<ProjectId>> project_of(Services& s, const std::any& principal,
                                              const SubmitRequest& request, const config::Place& place) {
  ProjectId id(request.project_id);
  if (request.project_id == 0) {
    id = store::kUncategorizedProject;
    if (!place.workspace.empty() && !place.project.empty()) {  // one of them alone is told with the rest
      const auto named = s.workspaces.place(place.workspace, place.project);
      if (!named) co_return tl::unexpected(named.error());
      id = *named;
    } else if (request.parent_id) {
      auto read = [&s, parent = *request.parent_id] { return s.store.experiment(parent); };
      const auto parent = co_await offload(s, std::move(read));
      if (parent && s.workspaces.check_open(ProjectId(parent->project_id)))
        id = ProjectId(parent->project_id);
    }
  }
  const auto allowed =
      co_await may(s, principal, access::Permission::CreateExperiment, Kind::Project, id.value());
  if (!allowed) co_return tl::unexpected(allowed.error());
  if (const auto open = s.workspaces.check_open(id); !open) co_return tl::unexpected(open.error());
  co_return id;
}

namespace {

/// The experiment whose only trial runs the search method of `searched`; none where the master decides, or a
/// program of the user. It runs where the trials run and stores where they store, and needs no slot.
Result<std::optional<experiment::ExperimentRecord>> search_runner_of(
    Services& s, const experiment::ExperimentRecord& searched, const config::ExperimentConfig& config) {
  if (config.searcher.name != "optuna" && !config.searcher.fields.contains("class")) return std::nullopt;
  constexpr int kRestartsMax =
      100;  // a process that dies is started again; what it says itself ends the search
  auto document = config.document;
  document["name"] = "search of " + config.name;
  document["entrypoint"] = "python3 -m determined.exec.search";
  document["hyperparameters"] = json::object();
  document["searcher"] =
      json::object{{"name", "single"}, {"metric", "none"},           {"smaller_is_better", true},
                   {"max_length", 1},  {"source_trial_id", nullptr}, {"source_checkpoint_uuid", nullptr}};
  document["max_restarts"] = kRestartsMax;
  document["resources"].as_object()["slots_per_trial"] = 0;
  DET_TRY(auto own, config::from_document(document));
  auto record = searched;
  record.name = own.name;
  record.config = own.document;
  record.original_config = json::serialize(document);
  record.job_id = checkpoint::new_uuid();
  record.resource_pool = s.ledger.cluster().pool_for(own);
  return record;
}

asio::awaitable<Result<SubmitReply>> create(Services& s, Context context, SubmitRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  if (request.config.size() > (std::size_t{1} << 20))
    co_return invalid_argument("the configuration has {} bytes; at most 1 MiB is allowed",
                               request.config.size());
  if (!request.external_experiment_id.empty())
    co_return invalid_argument(
        "externalExperimentId is '{}'; it can only be set by PUT /api/v1/experiments/by-external-id/{}, for "
        "unmanaged "
        "experiments",
        request.external_experiment_id, request.external_experiment_id);
  if (request.unmanaged) co_return co_await create_unmanaged(s, std::move(context), std::move(request));
  auto git = git_of(request);
  if (!git) co_return tl::unexpected(git.error());
  const auto template_name = template_of(*context.request);
  if (!template_name.empty()) {
    const auto seen = co_await may(s, context.principal, access::Permission::ViewTemplates, Kind::Template,
                                   json::value(template_name));
    if (!seen) co_return tl::unexpected(seen.error());
  }
  auto layers = layers_of(s, request.config, template_name);
  if (!layers) co_return tl::unexpected(layers.error());
  ProjectId project;
  Result<config::Policies> held;
  if (const auto place = config::place_of(*layers)) {
    const auto found = co_await project_of(s, context.principal, request, *place);
    if (!found) co_return tl::unexpected(found.error());
    project = *found;
    put_storage_of_workspace(s, project, *layers);
    held = policies_of(s, project);
    if (!held) co_return tl::unexpected(held.error());
  }
  auto resolved = resolve(s, *layers, *held);
  if (!resolved) co_return tl::unexpected(resolved.error());
  const auto pool = pool_in(s, project, resolved->config);
  if (const auto open = check_pool(s, project, pool); !open) co_return tl::unexpected(open.error());
  const auto policies = LogPolicies::of(resolved->config.document);
  if (!policies) co_return tl::unexpected(policies.error());
  const auto sources = co_await may_start_from(s, context.principal, request, resolved->config);
  if (!sources) co_return tl::unexpected(sources.error());
  const auto warm_start = co_await find_warm_start(s, *resolved);
  if (!warm_start) co_return tl::unexpected(warm_start.error());
  std::vector<std::string> warnings;
  const auto reason = never_fits(s, resolved->config, pool);
  if (reason) {
    if (s.launch_error) co_return invalid_argument("slots requested exceeds cluster capacity: {}", *reason);
    warnings.emplace_back("LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED");
  }
  auto packing = [files = std::move(request.model_definition)] { return pack(files); };
  auto packed = co_await offload(s, std::move(packing));
  if (!packed) co_return tl::unexpected(packed.error());
  // Its project may have been archived or deleted since.
  if (const auto open = s.workspaces.check_open(project); !open) co_return tl::unexpected(open.error());

  const auto& config = resolved->config;
  experiment::ExperimentRecord record{
      .name = config.name, .description = config.description, .notes = "", .labels = config.labels};
  record.config = config.document;
  record.original_config = request.config;
  record.model_definition = packed->digest;
  record.model_definition_bytes = static_cast<std::int64_t>(packed->archive.size());
  record.owner = user->id;
  record.job_id = checkpoint::new_uuid();
  record.resource_pool = pool;
  record.start_time = s.ledger.now();
  record.forked_from = request.parent_id;
  record.project_id = project.value();
  record.git = *std::move(git);
  SubmitReply reply{.experiment = {},
                    .config = config::masked(config.document),
                    .warnings = std::move(warnings),
                    .launch_reason = reason.value_or(""),
                    .config_warnings = std::move(resolved->warnings)};
  if (request.validate_only) {
    reply.experiment = to_api(s, record);
    co_return reply;
  }
  std::vector<store::Change> also;
  also.push_back(store::PutModelDefinition{packed->digest, std::move(packed->archive)});
  auto runner = search_runner_of(s, record, config);
  if (!runner) co_return tl::unexpected(runner.error());
  cluster::Event event =
      cluster::ExperimentSubmitted{std::move(record), request.activate, *std::move(runner)};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(also), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  const auto* live = s.ledger.cluster().experiment(done->experiment);
  if (live != nullptr) {
    reply.experiment = to_api(s, live->record());
    for (const auto& [id, trial] : live->trials()) reply.experiment.trial_ids.push_back(id);
    reply.experiment.num_trials = static_cast<std::int32_t>(live->trials().size());
  } else {
    reply.experiment.id = done->experiment;
  }
  co_return reply;
}

std::string unit_of(const config::Searcher& searcher) {
  static constexpr const char* kUnits[] = {"batches", "records", "epochs", ""};
  return searcher.time_metric.empty() ? kUnits[static_cast<int>(searcher.max_length.unit)]
                                      : searcher.time_metric;
}

Result<std::vector<TrialSummary>> summaries_of(const config::ExperimentConfig& config,
                                               const search::Preview& played) {
  std::vector<TrialSummary> summaries;
  for (const auto& row : search::training_times(config, played)) {
    TrialSummary summary{.count = static_cast<std::int32_t>(row.trials), .unit = {}};
    summary.unit.max_length = row.lengths.empty();
    if (!row.lengths.empty()) {
      const auto length = row.lengths.back();
      if (!std::in_range<std::int32_t>(length))
        return invalid_argument("the search would train {} trials for {} {}; a preview covers at most {}",
                                row.trials, length, unit_of(config.searcher),
                                std::numeric_limits<std::int32_t>::max());
      summary.unit.name = unit_of(config.searcher);
      summary.unit.value = static_cast<std::int32_t>(length);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

/// None where trials say themselves when they validate.
std::optional<Breakdown> breakdown(const config::ExperimentConfig& config, const search::Preview& played) {
  const bool has_length = !played.rows.empty() && !played.rows.front().lengths.empty();
  if (config.generation == config::Generation::Time || !has_length) return std::nullopt;
  const bool steps = config.generation == config::Generation::Steps;
  Breakdown all{.unit = steps ? "steps" : unit_of(config.searcher), .trials = {}};
  for (const auto& row : played.rows) {
    Validations one{.count = static_cast<std::int32_t>(row.trials), .lengths = row.lengths};
    if (steps)
      for (auto& length : one.lengths) length /= config.scheduling_unit;
    all.trials.push_back(std::move(one));
  }
  return all;
}

asio::awaitable<Result<PreviewReply>> preview(Services& s, Context context, PreviewRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto text =
      request.config.is_string() ? std::string(request.config.get_string()) : json::serialize(request.config);
  const auto has_searcher = config::parse_yaml(text);
  if (has_searcher &&
      (!has_searcher->value.is_object() || !has_searcher->value.get_object().contains("searcher")))
    co_return invalid_argument("invalid experiment configuration; missing searcher");
  auto resolved = resolve_search(s, text);
  if (!resolved && has_searcher) {
    // A trial class needs a length, and records_per_epoch for epochs. What the search does can be told
    // without them, as for a script, which decides both itself.
    auto document = has_searcher->value.get_object();
    document["entrypoint"] = "python3 train.py";
    if (auto as_script = resolve_search(s, json::serialize(document))) resolved = std::move(as_script);
  }
  if (!resolved) co_return tl::unexpected(resolved.error());
  const auto config = resolved->config;
  auto play = [config, seed = request.seed] {
    return search::preview(config, static_cast<std::uint32_t>(seed));
  };
  const auto played = co_await offload(s, std::move(play));
  if (!played) co_return tl::unexpected(played.error());
  auto times = summaries_of(config, *played);
  if (!times) co_return tl::unexpected(times.error());
  PreviewReply reply;
  reply.summary.config = config.document.at("searcher");
  reply.summary.trials = *std::move(times);
  reply.summary.breakdown = breakdown(config, *played);
  co_return reply;
}

}  // namespace

void add_submit_routes(http::Router& router, Services& s) {
  router.add<SubmitRequest, SubmitReply>(
      Verb::Post, "/api/v1/experiments",
      [&s](Context c, SubmitRequest r) { return create(s, std::move(c), std::move(r)); },
      Doc{.summary = "Submit an experiment, optionally with a template",
          .tag = "Experiments",
          .errors = {ErrorCode::NotFound}});
  router.add<PreviewRequest, PreviewReply>(
      Verb::Post, "/api/v1/preview-hp-search",
      [&s](Context c, PreviewRequest r) { return preview(s, std::move(c), std::move(r)); },
      Doc{.summary = "Preview the trials of a search without running it", .tag = "Experiments"});
  router.add_raw(Verb::Get, "/api/v1/schemas/experiment-config",
                 [](http::Request) -> asio::awaitable<http::Response> {
                   co_return http::json_response(json::serialize(config::experiment_schema()));
                 });
}

}  // namespace det::master
