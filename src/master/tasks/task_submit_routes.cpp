// Starting commands, notebooks, shells and TensorBoards.

#include "det/checkpoint/storage.h"
#include "det/config/task_config.h"
#include "det/master/experiments/model_definition.h"
#include "det/master/experiments/names.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/rights/rights.h"
#include "det/master/tasks/ssh_keys.h"
#include "det/master/tasks/task_objects.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr std::size_t kTrialsMax = 100;  // of a TensorBoard

struct LaunchRequest {
  json::value config;  ///< an object, or YAML text
  std::vector<SubmittedFile> files;
  std::string template_name;
  std::int32_t workspace_id = 0;  ///< 0: the configuration's, else "Uncategorized"
  bool preview = false;           ///< check only, and answer with the configuration
  std::vector<ExperimentId> experiment_ids;
  std::vector<TrialId> trial_ids;
};
BOOST_DESCRIBE_STRUCT(LaunchRequest, (),
                      (config, files, template_name, workspace_id, preview, experiment_ids, trial_ids))
struct LaunchReply : TaskReply {
  json::value config;
  std::vector<std::string> warnings;
  std::string launch_reason;  ///< ours: why it could never run on the pool as it is now; empty if it could
};
BOOST_DESCRIBE_STRUCT(LaunchReply, (TaskReply), (config, warnings, launch_reason))

Result<config::Layers> layers_of(Services& s, const LaunchRequest& request,
                                 const std::vector<store::TemplateRecord>& templates) {
  config::Layers layers{.master = s.defaults, .template_yaml = std::nullopt, .user_yaml = ""};
  if (request.config.is_string())
    layers.user_yaml = std::string(request.config.get_string());
  else if (!request.config.is_null())
    layers.user_yaml = json::serialize(request.config);
  if (!request.template_name.empty()) {
    for (const auto& known : templates)
      if (known.name == request.template_name) layers.template_yaml = known.yaml;
    if (!layers.template_yaml) return not_found("template '{}' not found", request.template_name);
  }
  return layers;
}

/// Where it runs: the pool that it names, its workspace's usual one, or the cluster's.
std::string pool_of(Services& s, const WorkspaceRecord& workspace, const config::TaskConfig& config) {
  const auto& pools = s.ledger.cluster().pools();
  if (!config.resource_pool.empty()) return config.resource_pool;
  const auto& usual = config.slots > 0 ? workspace.default_compute_pool : workspace.default_aux_pool;
  if (s.ledger.cluster().resource_pools().contains(usual)) return usual;
  return config.slots > 0 ? pools.default_compute : pools.default_aux;
}

Result<config::TaskConfig> resolve(Services& s, const TaskKind& kind, const WorkspaceRecord& workspace,
                                   const config::Layers& layers, const config::Policies& policies) {
  const config::Circumstances circumstances{
      .now = s.ledger.now(), .pet_name = pet_name(), .resource_pools = s.ledger.cluster().resource_pools()};
  auto resolved = config::resolve_task(kind.word, layers, circumstances, policies);
  if (!resolved) return tl::unexpected(join_errors(resolved.error()));
  if (policies.empty()) return *std::move(resolved);
  const auto usual = s.ledger.cluster().pool(pool_of(s, workspace, *resolved)).default_priority;
  if (const auto errors = config::limit(config::Workload::Task, resolved->document, policies, usual);
      !errors.empty())
    return tl::unexpected(join_errors(errors));
  if (const auto priority = json::to_int64(resolved->document.at("resources").at("priority")))
    resolved->priority = static_cast<int>(*priority);
  return *std::move(resolved);
}

Result<const WorkspaceRecord*> workspace_of(Services& s, const LaunchRequest& request,
                                            const std::string& named) {
  const auto* found = request.workspace_id != 0 ? s.workspaces.find(WorkspaceId(request.workspace_id))
                      : !named.empty()          ? s.workspaces.find(named)
                                                : s.workspaces.find(store::kUncategorizedWorkspace);
  if (found == nullptr)
    return not_found("workspace '{}' not found",
                     request.workspace_id != 0 ? std::to_string(request.workspace_id) : named);
  if (found->archived)
    return failed_precondition("workspace '{}' is archived; unarchive it before you start a task in it",
                               found->name);
  return found;
}

/// What runs: the user's program, or one of ours.
std::vector<std::string> command_of(const TaskKind& kind, const config::TaskConfig& config) {
  if (kind.type == task::Type::Command) return config.entrypoint;
  std::vector<std::string> words = {"-m", fmt::format("determined.exec.{}", kind.word)};
  words.insert(words.end(), config.tensorboard_args.begin(), config.tensorboard_args.end());
  return words;
}

/// Why the pool as it is now could never run it.
std::optional<std::string> never_fits(Services& s, const task::TaskRecord& record) {
  const auto& cluster = s.ledger.cluster();
  auto agents = cluster.scheduler_agents(record.resource_pool);
  if (agents.empty()) return std::nullopt;  // none has come yet
  for (auto& agent : agents) {              // what is disabled can be enabled again
    agent.enabled = true;
    agent.draining = false;
    for (auto& slot : agent.slots) slot.enabled = true;
  }
  scheduler::Request request;
  request.slots = record.slots;
  request.single_agent = true;
  return scheduler::never_fits(agents, request,
                               scheduler_options(cluster.pool(record.resource_pool)).fitting);
}

/// What a TensorBoard shall show has to be there.
asio::awaitable<Result<void>> check_shown(Services& s, const LaunchRequest& request) {
  if (request.experiment_ids.empty() && request.trial_ids.empty())
    co_return invalid_argument("must set experiment or trial ids");
  if (request.trial_ids.size() > kTrialsMax)
    co_return invalid_argument("{} trials are too many for one TensorBoard; choose at most {}",
                               request.trial_ids.size(), kTrialsMax);
  auto read = [&s, experiments = request.experiment_ids, trials = request.trial_ids]() -> Result<void> {
    for (const auto id : experiments)
      if (const auto found = s.store.experiment(id); !found || found->state == experiment::State::Deleted)
        return not_found("no experiments found: experiment '{}' not found", id);
    for (const auto id : trials)
      if (!s.store.trial(id)) return not_found("trial '{}' not found", id);
    return {};
  };
  co_return co_await offload(s, std::move(read));
}

/// In that workspace, and what it shall show or is made from.
asio::awaitable<Result<void>> may_launch(Services& s, const std::any& principal, const LaunchRequest& request,
                                         std::int64_t workspace) {
  using access::Permission;
  if (const auto here = may_in(s, principal, Permission::CreateNsc, workspace); !here)
    co_return tl::unexpected(here.error());
  if (!request.template_name.empty()) {
    const auto made_from =
        co_await may(s, principal, Permission::ViewTemplates, Kind::Templates, json::value(""));
    if (!made_from) co_return tl::unexpected(made_from.error());
  }
  for (const auto id : request.experiment_ids) {
    const auto seen =
        co_await may(s, principal, Permission::ViewExperimentArtifacts, Kind::Experiment, id.value());
    if (!seen) co_return tl::unexpected(seen.error());
  }
  for (const auto id : request.trial_ids) {
    const auto seen =
        co_await may(s, principal, Permission::ViewExperimentArtifacts, Kind::Trial, id.value());
    if (!seen) co_return tl::unexpected(seen.error());
  }
  co_return Result<void>{};
}

asio::awaitable<Result<LaunchReply>> launch(Services& s, TaskKind kind, Context context,
                                            LaunchRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  if (request.config.is_string() && request.config.get_string().size() > (std::size_t{1} << 20))
    co_return invalid_argument("the configuration has {} bytes; at most 1 MiB is allowed",
                               request.config.get_string().size());
  std::vector<store::TemplateRecord> templates;
  if (!request.template_name.empty()) {
    auto read = [&s] { return s.store.templates(); };
    templates = co_await offload(s, std::move(read));
  }
  const auto layers = layers_of(s, request, templates);
  if (!layers) co_return tl::unexpected(layers.error());
  auto workspace = *s.workspaces.find(store::kUncategorizedWorkspace);
  Result<config::Policies> held;
  if (const auto place = config::place_of(*layers)) {
    const auto found = workspace_of(s, request, place->workspace);
    if (!found) co_return tl::unexpected(found.error());
    workspace = **found;
    held = s.policies.in(workspace, config::Workload::Task);
    if (!held) co_return tl::unexpected(held.error());
    const auto allowed = co_await may_launch(s, context.principal, request, workspace.id.value());
    if (!allowed) co_return tl::unexpected(allowed.error());
  }
  auto resolved = resolve(s, kind, workspace, *layers, *held);
  if (!resolved) co_return tl::unexpected(resolved.error());
  const auto pool = pool_of(s, workspace, *resolved);
  if (const auto open = check_pool(s, workspace.id, pool); !open) co_return tl::unexpected(open.error());
  if (kind.type == task::Type::Tensorboard) {
    const auto there = co_await check_shown(s, request);
    if (!there) co_return tl::unexpected(there.error());
  }
  ModelDefinition packed;
  if (!request.files.empty()) {
    auto packing = [files = std::move(request.files)] { return pack(files); };
    auto done = co_await offload(s, std::move(packing));
    if (!done) co_return tl::unexpected(done.error());
    packed = *std::move(done);
  }

  task::TaskRecord record{.id = checkpoint::new_uuid(),
                          .type = kind.type,
                          .description = resolved->description,
                          .owner = user->id,
                          .config = resolved->document,
                          .command = command_of(kind, *resolved),
                          .program_is_ours = kind.type != task::Type::Command,
                          .context = packed.digest,
                          .context_bytes = static_cast<std::int64_t>(packed.archive.size()),
                          .job_id = checkpoint::new_uuid(),
                          .resource_pool = pool,
                          .workspace_id = workspace.id.value(),
                          .slots = resolved->slots,
                          .priority = resolved->priority,
                          .idle_timeout_seconds = resolved->idle_timeout_seconds,
                          .experiment_ids = request.experiment_ids,
                          .trial_ids = request.trial_ids,
                          .start_time = s.ledger.now()};
  LaunchReply reply;
  reply.config = config::masked(resolved->document);
  if (const auto reason = never_fits(s, record)) {
    if (s.launch_error) co_return invalid_argument("slots requested exceeds cluster capacity: {}", *reason);
    reply.warnings.emplace_back("LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED");
    reply.launch_reason = *reason;
  }
  if (request.preview) {
    put(reply, kind, to_api(s, record));
    co_return reply;
  }
  const auto id = record.id;
  if (kind.type == task::Type::Shell) {
    auto keys = make_ssh_keys("shell " + id);
    record.public_key = std::move(keys.public_key);
    record.private_key = std::move(keys.private_key);
  }
  const auto show = [&](const task::TaskRecord& now) {
    auto shown = to_api(s, now);
    show_key(shown, now, context.principal);
    put(reply, kind, std::move(shown));
  };
  show(record);
  std::vector<store::Change> also;
  if (!packed.digest.empty())
    also.push_back(store::PutModelDefinition{packed.digest, std::move(packed.archive)});
  cluster::Event event = cluster::TaskSubmitted{std::move(record)};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(also), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  if (const auto* live = s.ledger.cluster().task(id)) show(live->record());
  co_return reply;
}

}  // namespace

void add_task_submit_routes(http::Router& router, Services& s) {
  for (const auto& kind : kTaskKinds)
    router.add<LaunchRequest, LaunchReply>(
        Verb::Post, fmt::format("/api/v1/{}", kind.plural),
        [&s, kind](Context c, LaunchRequest r) { return launch(s, kind, std::move(c), std::move(r)); },
        Doc{.summary = fmt::format("Start a {}", kind.word),
            .tag = "Tasks",
            .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
}

}  // namespace det::master
