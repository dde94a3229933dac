// Starting commands, notebooks, shells and TensorBoards.

#include "det/master/experiments/model_definition.h"
#include "det/master/rights/rights.h"
#include "det/master/tasks/launch.h"
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
  std::vector<std::string> config_warnings;  ///< ours: what of the configuration has no effect
};
BOOST_DESCRIBE_STRUCT(LaunchReply, (TaskReply), (config, warnings, launch_reason, config_warnings))

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
    const auto made_from = co_await may(s, principal, Permission::ViewTemplates, Kind::Template,
                                        json::value(request.template_name));
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
  const auto layers = co_await layers_of(s, request.config, request.template_name);
  if (!layers) co_return tl::unexpected(layers.error());
  auto workspace = *s.workspaces.find(store::kUncategorizedWorkspace);
  if (const auto place = config::place_of(*layers)) {
    const auto found = workspace_of(s, request, place->workspace);
    if (!found) co_return tl::unexpected(found.error());
    workspace = **found;
    const auto allowed = co_await may_launch(s, context.principal, request, workspace.id.value());
    if (!allowed) co_return tl::unexpected(allowed.error());
  }
  auto planned = plan_launch(s, kind.word, workspace, *layers);
  if (!planned) co_return tl::unexpected(planned.error());
  auto& config = planned->config;
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

  auto record = record_of(s, *planned, kind.type, user->id, workspace);
  record.command = command_of(kind, config);
  record.context = packed.digest;
  record.context_bytes = static_cast<std::int64_t>(packed.archive.size());
  record.experiment_ids = request.experiment_ids;
  record.trial_ids = request.trial_ids;
  LaunchReply reply;
  reply.config = config::masked(config.document);
  reply.config_warnings = config.warnings;
  if (const auto reason = never_fits(s, record)) {
    if (s.launch_error) co_return invalid_argument("slots requested exceeds cluster capacity: {}", *reason);
    reply.warnings.emplace_back(kNeverFitsWarning);
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
