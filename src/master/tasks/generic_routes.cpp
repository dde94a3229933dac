// Generic tasks: commands that can be paused, forked, and have children.

#include <algorithm>

#include "det/master/experiments/model_definition.h"
#include "det/master/rights/rights.h"
#include "det/master/tasks/launch.h"
#include "det/master/tasks/task_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;
using task::TaskRecord;

constexpr std::size_t kAncestorsMax = 100;

struct GenericTaskRequest {
  std::string config;  ///< YAML; empty: that of the task it is forked from
  std::vector<SubmittedFile> context_directory;
  std::optional<std::int32_t> project_id;
  std::optional<std::string> forked_from, parent_id;
  std::optional<bool> inherit_context, no_pause;
  std::optional<std::string> template_name;  ///< ours
};
BOOST_DESCRIBE_STRUCT(GenericTaskRequest, (),
                      (config, context_directory, project_id, forked_from, parent_id, inherit_context,
                       no_pause, template_name))
struct GenericTaskReply {
  std::string task_id;
  std::vector<std::string> warnings;
  std::string launch_reason;                 ///< ours: why it could never run on the pool as it is now
  std::vector<std::string> config_warnings;  ///< ours: what of the configuration has no effect
};
BOOST_DESCRIBE_STRUCT(GenericTaskReply, (), (task_id, warnings, launch_reason, config_warnings))

struct ById {
  std::string task_id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (task_id))

/// The tasks that a request names.
struct Relatives {
  std::optional<TaskRecord> parent, original;
};

/// A generic task that the request names in `field`, and that the caller has this right for.
asio::awaitable<Result<TaskRecord>> named(Services& s, std::any principal, const char* field, std::string id,
                                          access::Permission permission) {
  const auto allowed = co_await may(s, principal, permission, Kind::Task, json::value(id));
  if (!allowed) co_return tl::unexpected(allowed.error());
  auto record = co_await find_task(s, id);
  if (!record) co_return not_found("{} is '{}'; there is no such generic task", field, id);
  if (record->type != task::Type::Generic)
    co_return invalid_argument("{} is '{}', a {}; it must be a generic task", field, id,
                               task::type_word(record->type));
  co_return record;
}

asio::awaitable<Result<Relatives>> relatives_of(Services& s, std::any principal, std::string parent,
                                                std::string original) {
  Relatives found;
  if (!parent.empty()) {
    auto record = co_await named(s, principal, "parentId", parent, access::Permission::UpdateNsc);
    if (!record) co_return tl::unexpected(record.error());
    if (record->ancestors.size() >= kAncestorsMax)
      co_return invalid_argument("parentId is '{}', which has {} ancestors; at most {} are allowed", parent,
                                 record->ancestors.size(), kAncestorsMax - 1);
    found.parent = *std::move(record);
  }
  if (!original.empty()) {
    auto record = co_await named(s, principal, "forkedFrom", original, access::Permission::ViewNsc);
    if (!record) co_return tl::unexpected(record.error());
    found.original = *std::move(record);
  }
  co_return found;
}

/// The project's, that which the configuration names, or that of its relatives.
Result<const WorkspaceRecord*> workspace_for(Services& s, const GenericTaskRequest& request,
                                             const std::string& named, const Relatives& relatives) {
  const WorkspaceRecord* found = nullptr;
  if (const auto id = request.project_id.value_or(0); id != 0) {
    const auto* project = s.workspaces.project(ProjectId(id));
    if (project == nullptr) return not_found("project '{}' not found", id);
    if (project->archived)
      return failed_precondition("project '{}' is archived; unarchive it before you start a task in it",
                                 project->name);
    found = s.workspaces.find(project->workspace);
  } else if (!named.empty()) {
    found = s.workspaces.find(named);
    if (found == nullptr) return not_found("workspace '{}' not found", named);
  } else {
    const auto& like = relatives.parent ? relatives.parent : relatives.original;
    found = s.workspaces.find(like ? WorkspaceId(like->workspace_id) : store::kUncategorizedWorkspace);
  }
  if (found == nullptr || found->archived)
    return failed_precondition("workspace '{}' is archived; unarchive it before you start a task in it",
                               found == nullptr ? "" : found->name);
  return found;
}

/// What the request says against itself.
std::vector<Error> problems_of(const GenericTaskRequest& request) {
  std::vector<Error> problems;
  const auto add = [&](std::string text) {
    problems.emplace_back(ErrorCode::InvalidArgument, std::move(text));
  };
  const bool has_parent = !request.parent_id.value_or("").empty();
  if (request.inherit_context.value_or(false)) {
    if (!has_parent) add("inheritContext is true, but parentId names no task whose files to use");
    if (!request.context_directory.empty())
      add("inheritContext is true, and contextDirectory has files; choose one of them");
  }
  return problems;
}

/// Its files: those that were sent, its parent's, or those of the task that it is forked from.
asio::awaitable<Result<ModelDefinition>> files_for(Services& s, GenericTaskRequest request,
                                                   Relatives relatives, TaskRecord& record) {
  const TaskRecord* like = request.inherit_context.value_or(false)                   ? &*relatives.parent
                           : request.context_directory.empty() && relatives.original ? &*relatives.original
                                                                                     : nullptr;
  if (like != nullptr) {
    record.context = like->context;
    record.context_bytes = like->context_bytes;
    co_return ModelDefinition{};
  }
  if (request.context_directory.empty()) co_return ModelDefinition{};
  auto packing = [files = std::move(request.context_directory)] { return pack(files); };
  auto packed = co_await offload(s, std::move(packing));
  if (!packed) co_return tl::unexpected(packed.error());
  record.context = packed->digest;
  record.context_bytes = static_cast<std::int64_t>(packed->archive.size());
  co_return packed;
}

asio::awaitable<Result<GenericTaskReply>> create(Services& s, Context context, GenericTaskRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto relatives = co_await relatives_of(s, context.principal, request.parent_id.value_or(""),
                                               request.forked_from.value_or(""));
  if (!relatives) co_return tl::unexpected(relatives.error());
  json::value text(request.config);
  if (request.config.empty() && relatives->original) {
    const auto& original = *relatives->original;
    text = json::serialize(original.owner == user->id ? json::value(original.config)
                                                      : config::masked(original.config));
  }
  const auto from_template = request.template_name.value_or("");
  const auto layers = co_await layers_of(s, std::move(text), from_template);
  if (!layers) co_return tl::unexpected(layers.error());
  const auto place = config::place_of(*layers);
  const auto workspace = workspace_for(s, request, place ? place->workspace : "", *relatives);
  if (!workspace) co_return tl::unexpected(workspace.error());
  const auto allowed = may_in(s, context.principal, access::Permission::CreateNsc, (*workspace)->id.value());
  if (!allowed) co_return tl::unexpected(allowed.error());
  if (!from_template.empty()) {
    const auto seen = co_await may(s, context.principal, access::Permission::ViewTemplates, Kind::Template,
                                   json::value(from_template));
    if (!seen) co_return tl::unexpected(seen.error());
  }
  auto problems = problems_of(request);
  auto planned = plan_launch(s, "generic", **workspace, *layers);
  if (!problems.empty()) {
    if (!planned) problems.push_back(planned.error());
    co_return tl::unexpected(join_errors(problems));
  }
  if (!planned) co_return tl::unexpected(planned.error());

  auto record = record_of(s, *planned, task::Type::Generic, user->id, **workspace);
  record.command = planned->config.entrypoint;
  record.no_pause = request.no_pause.value_or(false) || !planned->config.pausable;
  record.forked_from = request.forked_from.value_or("");
  if (relatives->parent) {
    record.ancestors = relatives->parent->ancestors;
    record.ancestors.push_back(relatives->parent->id);
  }
  GenericTaskReply reply{.task_id = record.id, .config_warnings = planned->config.warnings};
  if (const auto reason = never_fits(s, record)) {
    if (s.launch_error) co_return invalid_argument("slots requested exceeds cluster capacity: {}", *reason);
    reply.warnings.emplace_back(kNeverFitsWarning);
    reply.launch_reason = *reason;
  }
  auto packed = co_await files_for(s, std::move(request), *relatives, record);
  if (!packed) co_return tl::unexpected(packed.error());
  std::vector<store::Change> also;
  if (!packed->digest.empty())
    also.push_back(store::PutModelDefinition{packed->digest, std::move(packed->archive)});
  cluster::Event event = cluster::TaskSubmitted{std::move(record)};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(also), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return reply;
}

asio::awaitable<Result<Empty>> command(Services& s, Context context, std::string id, cluster::Event event) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto record = co_await find_task(s, id);
  if (!record) {
    auto read = [&s, id] { return s.store.trial_of_task(id).has_value(); };
    const bool trial = co_await offload(s, std::move(read));
    if (trial)
      co_return failed_precondition("task {} is a trial; pause and activate its experiment instead", id);
    co_return tl::unexpected(record.error());
  }
  if (record->state == task::State::Terminated)
    co_return failed_precondition("{} {} has ended: {}", task::type_word(record->type), id,
                                  record->exit_status);
  const auto allowed = co_await may_command_family(s, context.principal, id);
  if (!allowed) co_return tl::unexpected(allowed.error());
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

}  // namespace

void add_generic_task_routes(http::Router& router, Services& s) {
  const std::string tag = "Tasks";
  const std::vector<ErrorCode> refused = {ErrorCode::NotFound, ErrorCode::FailedPrecondition,
                                          ErrorCode::PermissionDenied};
  router.add<GenericTaskRequest, GenericTaskReply>(
      Verb::Post, "/api/v1/generic-tasks",
      [&s](Context c, GenericTaskRequest r) { return create(s, std::move(c), std::move(r)); },
      Doc{.summary = "Start a generic task: a command that can be paused, forked, and have children",
          .tag = tag,
          .errors = refused});
  router.add<ById, Empty>(
      Verb::Post, "/api/v1/tasks/{taskId}/pause",
      [&s](Context c, ById r) {
        cluster::Event event = cluster::TaskPaused{r.task_id};
        return command(s, std::move(c), r.task_id, std::move(event));
      },
      Doc{.summary = "Pause a generic task, and its descendants that can be paused",
          .tag = tag,
          .errors = refused});
  router.add<ById, Empty>(
      Verb::Post, "/api/v1/tasks/{taskId}/unpause",
      [&s](Context c, ById r) {
        cluster::Event event = cluster::TaskUnpaused{r.task_id};
        return command(s, std::move(c), r.task_id, std::move(event));
      },
      Doc{.summary = "Resume a generic task and its descendants, as new allocations",
          .tag = tag,
          .errors = refused});
}

}  // namespace det::master
