#include "det/master/rights/rights.h"

#include <charconv>

#include "det/master/models/registry.h"
#include "det/master/rights/role_book.h"
#include "det/master/tasks/task_objects.h"
#include "det/master/unmanaged/unmanaged.h"
#include "det/master/webhooks/webhooks.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

using access::Object;
using access::Permission;

constexpr std::size_t kBytesLookedAt = 64 << 10;

/// A thing that a call named: where it is, and what the call needs if it is something else than it seemed.
struct Place {
  Object object;
  Permission permission;
};
using Found = std::optional<Place>;

std::string text_of(const json::value& id) {
  return id.is_string() ? std::string(id.get_string()) : json::serialize(id);
}

template <class T>
std::optional<T> id_of(const json::value& value) {
  const auto id = http::from_wire<T>(value);
  return id ? std::optional<T>(*id) : std::nullopt;
}

Object in_project(Services& s, std::int64_t project_id, std::string what, UserId owner) {
  Object object{.what = std::move(what), .workspace = 1, .workspace_name = {}, .owners = {owner}};
  if (const auto* project = s.workspaces.project(ProjectId(project_id)))
    object.workspace = project->workspace.value();
  if (const auto* workspace = s.workspaces.find(WorkspaceId(*object.workspace)))
    object.workspace_name = workspace->name;
  return object;
}

Object in_workspace(Services& s, std::int64_t id, std::string what, std::vector<UserId> owners) {
  Object object{.what = std::move(what), .workspace = id, .workspace_name = {}, .owners = std::move(owners)};
  if (const auto* workspace = s.workspaces.find(WorkspaceId(id))) object.workspace_name = workspace->name;
  return object;
}

asio::awaitable<std::optional<Object>> of_experiment(Services& s, ExperimentId id, std::string what) {
  if (const auto* live = s.ledger.cluster().experiment(id))
    co_return in_project(s, live->record().project_id, std::move(what), live->record().owner);
  if (const auto* open = s.unmanaged.open_record(id))
    co_return in_project(s, open->project_id, std::move(what), open->owner);
  auto read = [&s, id]() -> std::optional<std::pair<std::int64_t, UserId>> {
    const auto record = s.store.experiment(id);
    if (!record) return std::nullopt;
    return std::pair(record->project_id, record->owner);
  };
  const auto stored = co_await offload(s, std::move(read));
  if (!stored) co_return std::nullopt;
  co_return in_project(s, stored->first, std::move(what), stored->second);
}

asio::awaitable<std::optional<Object>> of_trial(Services& s, TrialId id) {
  auto what = fmt::format("trial {}", id);
  if (const auto* live = s.ledger.cluster().trial(id))
    co_return co_await of_experiment(s, live->record.experiment_id, std::move(what));
  auto read = [&s, id]() -> std::optional<ExperimentId> {
    const auto record = s.store.trial(id);
    return record ? std::optional(record->experiment_id) : std::nullopt;
  };
  const auto experiment = co_await offload(s, std::move(read));
  if (!experiment) co_return std::nullopt;
  co_return co_await of_experiment(s, *experiment, std::move(what));
}

asio::awaitable<std::optional<Object>> of_checkpoint(Services& s, std::string uuid) {
  auto read = [&s, uuid]() -> std::optional<ExperimentId> {
    const auto record = s.store.checkpoint(uuid);
    return record ? std::optional(record->experiment_id) : std::nullopt;
  };
  const auto experiment = co_await offload(s, std::move(read));
  if (!experiment) co_return std::nullopt;
  co_return co_await of_experiment(s, *experiment, "checkpoint " + uuid);
}

asio::awaitable<std::optional<Object>> of_template(Services& s, std::string name) {
  auto read = [&s] { return s.store.templates(); };
  const auto all = co_await offload(s, std::move(read));
  for (const auto& record : all)
    if (record.name == name)
      co_return in_workspace(s, record.workspace.value(), fmt::format("template '{}'", name), {});
  co_return std::nullopt;
}

Found with(std::optional<Object> object, Permission permission) {
  if (!object) return std::nullopt;
  return Place{*std::move(object), permission};
}

/// What is asked of tasks, asked of trials.
Permission of_trials(Permission permission) {
  if (permission == Permission::ViewNsc) return Permission::ViewExperimentArtifacts;
  if (permission == Permission::UpdateNsc) return Permission::UpdateExperiment;
  return permission;
}

asio::awaitable<Found> of_task(Services& s, std::string id, Permission permission) {
  const auto described = [&s](const task::TaskRecord& record) {
    return in_workspace(s, record.workspace_id, fmt::format("{} {}", task::type_word(record.type), record.id),
                        {record.owner});
  };
  if (const auto* live = s.ledger.cluster().task(id)) co_return Place{described(live->record()), permission};
  struct Stored {
    std::optional<task::TaskRecord> task;
    std::optional<TrialId> trial;
  };
  auto read = [&s, id] {
    Stored stored{s.store.task(id), std::nullopt};
    if (!stored.task)
      if (const auto trial = s.store.trial_of_task(id)) stored.trial = trial->id;
    return stored;
  };
  const auto stored = co_await offload(s, std::move(read));
  if (stored.task) co_return Place{described(*stored.task), permission};
  if (!stored.trial) co_return std::nullopt;
  auto object = co_await of_trial(s, *stored.trial);
  co_return with(std::move(object), of_trials(permission));
}

asio::awaitable<Found> of_job(Services& s, std::string name, Permission permission) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = failure == std::errc{} && end == name.data() + name.size();
  const auto seen = permission == Permission::ViewNsc     ? Permission::ViewExperimentMetadata
                    : permission == Permission::UpdateNsc ? Permission::UpdateExperiment
                                                          : permission;
  for (const auto& [id, experiment] : s.ledger.cluster().experiments()) {
    const auto& record = experiment.record();
    if (is_number ? id.value() != number : record.job_id != name) continue;
    auto object = in_project(s, record.project_id, fmt::format("experiment {}", id), record.owner);
    co_return Place{std::move(object), seen};
  }
  for (const auto& [id, task] : s.ledger.cluster().tasks())
    if (id == name || task.record().job_id == name) co_return co_await of_task(s, id, permission);
  co_return std::nullopt;
}

std::optional<Object> of_project(Services& s, const ProjectRecord* record) {
  if (record == nullptr) return std::nullopt;
  auto object =
      in_workspace(s, record->workspace.value(), fmt::format("project '{}'", record->name), {record->owner});
  if (const auto* workspace = s.workspaces.find(record->workspace)) object.owners.push_back(workspace->owner);
  return object;
}

/// `request` is null where a handler asks, which names nothing by two parameters.
asio::awaitable<Found> find(Services& s, Permission permission, Kind kind, json::value id,
                            const http::Request* request) {
  const auto parameter = [&](const char* name) {
    if (request == nullptr) return std::string();
    const auto found = request->parameters.find(name);
    return found == request->parameters.end() ? std::string() : found->second;
  };
  std::optional<Object> object;
  switch (kind) {
    case Kind::Cluster:
      co_return Place{{.what = "the cluster", .workspace = std::nullopt, .workspace_name = {}, .owners = {}},
                      permission};
    case Kind::Experiment:
      if (const auto experiment = id_of<ExperimentId>(id))
        object = co_await of_experiment(s, *experiment, fmt::format("experiment {}", *experiment));
      break;
    case Kind::Trial:
      if (const auto trial = id_of<TrialId>(id)) object = co_await of_trial(s, *trial);
      break;
    case Kind::ExternalTrial: {
      const auto experiment = s.unmanaged.named(parameter("externalExperimentId"));
      const auto trial = experiment ? s.unmanaged.named(*experiment, text_of(id)) : std::nullopt;
      if (trial) object = co_await of_trial(s, *trial);
      break;
    }
    case Kind::Checkpoint: object = co_await of_checkpoint(s, text_of(id)); break;
    case Kind::Task: co_return co_await of_task(s, task_of(text_of(id)), permission);
    case Kind::Job: co_return co_await of_job(s, text_of(id), permission);
    case Kind::Workspace:
      if (const auto workspace = id_of<WorkspaceId>(id))
        if (const auto* record = s.workspaces.find(*workspace))
          object = in_workspace(s, record->id.value(), fmt::format("workspace '{}'", record->name),
                                {record->owner});
      break;
    case Kind::Project:
      if (const auto project = id_of<ProjectId>(id)) object = of_project(s, s.workspaces.project(*project));
      break;
    case Kind::ProjectKey: object = of_project(s, s.workspaces.project_with_key(text_of(id))); break;
    case Kind::Model:
      if (const auto* model = s.registry.find(text_of(id)))
        object =
            in_workspace(s, model->workspace.value(), fmt::format("model '{}'", model->name), {model->owner});
      break;
    case Kind::ModelVersion: {
      const auto* model = s.registry.find(text_of(id));
      const auto number = id_of<std::int64_t>(json::value(parameter("modelVersionNum")));
      if (model == nullptr || !number) break;
      if (const auto* version = s.registry.version(model->id, *number))
        object =
            in_workspace(s, model->workspace.value(),
                         fmt::format("version {} of model '{}'", *number, model->name), {version->owner});
      break;
    }
    case Kind::Webhook: {
      const auto webhook = id_of<store::WebhookId>(id);
      const auto* record = webhook ? s.webhooks.find(*webhook) : nullptr;
      if (record == nullptr) break;
      if (!record->workspace) co_return co_await find(s, permission, Kind::Cluster, id, request);
      co_return co_await find(s, permission, Kind::Workspace, record->workspace.value(), request);
    }
    case Kind::Template: object = co_await of_template(s, text_of(id)); break;
  }
  co_return with(std::move(object), permission);
}

/// As the handlers say it of what does not exist.
Error absent(Kind kind, const json::value& id) {
  const auto text = text_of(id);
  const auto not_there = [](std::string message) { return Error(ErrorCode::NotFound, std::move(message)); };
  switch (kind) {
    case Kind::Experiment: return not_there(fmt::format("experiment '{}' not found", text));
    case Kind::Trial:
    case Kind::ExternalTrial: return not_there(fmt::format("trial '{}' not found", text));
    case Kind::Checkpoint: return not_there(fmt::format("checkpoint '{}' not found", text));
    case Kind::Workspace: return not_there(fmt::format("workspace {} not found", text));
    case Kind::Project: return not_there(fmt::format("project {} not found", text));
    case Kind::ProjectKey: return not_there(fmt::format("project with the key '{}' not found", text));
    case Kind::Model:
    case Kind::ModelVersion: return not_there(fmt::format("model '{}' not found", text));
    case Kind::Webhook: return not_there(fmt::format("webhook '{}' not found", text));
    case Kind::Template: return not_there(fmt::format("template '{}' not found", text));
    case Kind::Job: return not_there(fmt::format("job '{}' not found in any queue", text));
    default: return not_there(fmt::format("task '{}' not found", text));
  }
}

Result<void> answer(Services& s, const access::Caller& caller, Place place, Kind kind,
                    const json::value& id) {
  if (!place.object.owners.empty())
    if (const auto owner = s.auth.users().find(place.object.owners.front()); owner != s.auth.users().end())
      place.object.owner_name = owner->second.username;
  const auto decision = access::decide(s.roles.mode(), caller, place.permission, place.object);
  if (decision.answer == access::Answer::Yes) return {};
  if (decision.answer == access::Answer::Hidden) return tl::unexpected(absent(kind, id));
  return tl::unexpected(Error(ErrorCode::PermissionDenied, decision.reason));
}

/// All values at a path of names below `value`, in all items of the lists on the way.
void collect(const json::value& value, std::string_view path, std::vector<json::value>& found) {
  if (value.is_array()) {
    for (const auto& item : value.get_array()) collect(item, path, found);
  } else if (path.empty()) {
    if (!value.is_null()) found.push_back(value);
  } else if (value.is_object()) {
    const auto name = path.substr(0, path.find('.'));
    const auto rest = name.size() == path.size() ? std::string_view() : path.substr(name.size() + 1);
    for (const auto& [key, member] : value.get_object())
      if (http::camel_case(std::string_view(key)) == name) collect(member, rest, found);
  }
}

constexpr std::string_view kBody = "body:";

/// What the call names where the demand says.
std::vector<json::value> named(const Demand& demand, const http::Request& request, const json::value& body) {
  std::vector<json::value> found;
  auto from = demand.from;
  if (from.empty()) return {json::value("")};
  if (from.starts_with(kBody)) {
    collect(body, from.substr(kBody.size()), found);
  } else if (from.starts_with('?')) {
    for (const auto& text : request.query.all(from.substr(1))) found.emplace_back(text);
  } else if (const auto parameter = request.parameters.find(std::string(from));
             parameter != request.parameters.end()) {
    found.emplace_back(parameter->second);
  }
  return found;
}

std::string_view word(Kind kind) {
  switch (kind) {
    case Kind::Experiment: return "experiment";
    case Kind::Trial:
    case Kind::ExternalTrial: return "trial";
    case Kind::Checkpoint: return "checkpoint";
    case Kind::Task: return "task";
    case Kind::Job: return "job";
    case Kind::Workspace: return "workspace";
    case Kind::Project:
    case Kind::ProjectKey: return "project";
    case Kind::Model:
    case Kind::ModelVersion: return "model";
    case Kind::Webhook: return "webhook";
    case Kind::Template: return "template";
    default: return "";
  }
}

void mention(std::string& about, Kind kind, const json::value& id) {
  constexpr std::size_t kLengthMax = 500;
  if (word(kind).empty() || about.size() > kLengthMax) return;
  if (!about.empty()) about += ", ";
  about += fmt::format("{} {}", word(kind), text_of(id).substr(0, 100));
}

bool is_task(const std::any& principal) {
  return std::holds_alternative<TaskPrincipal>(std::any_cast<const Principal&>(principal));
}

}  // namespace

Result<access::Caller> caller_of(Services& s, const std::any& principal) {
  DET_TRY(const auto actor, require_actor(s, principal));
  access::Caller caller{.user = actor.id, .name = actor.username, .grants = s.roles.grants(actor.id)};
  caller.is_task = !actor.allocation_id.empty();
  if (const auto user = s.auth.users().find(actor.id); user != s.auth.users().end())
    caller.admin = user->second.admin;
  return caller;
}

asio::awaitable<Result<std::string>> check_rights(Services& s, const std::string& operation,
                                                  const http::Request& request, const std::any& principal) {
  std::string about;
  const auto* rule = access_rule(operation);
  if (rule != nullptr && (rule->who == Who::Tasks || rule->who == Who::Agents)) co_return about;
  if (rule != nullptr && rule->who == Who::Reporters && is_task(principal)) co_return about;
  const auto caller = caller_of(s, principal);
  if (!caller) co_return tl::unexpected(caller.error());
  const auto mode = s.roles.mode();
  if (rule == nullptr) {
    if (access::is_administrator(mode, *caller)) co_return about;
    co_return fail(ErrorCode::PermissionDenied,
                   "user '{}' cannot call {}: it has no access rule, so only administrators can",
                   caller->name, operation);
  }
  const bool from_body = std::any_of(rule->demands.begin(), rule->demands.end(), [&](const Demand& demand) {
    return demand.from.starts_with(kBody) &&
           (request.body.size() <= kBytesLookedAt || !access::always(mode, *caller, demand.permission));
  });
  json::value body;
  if (from_body)
    if (auto parsed = json::parse_unambiguous(request.body)) body = *std::move(parsed);
  for (const auto& demand : rule->demands)
    for (const auto& id : named(demand, request, body)) {
      mention(about, demand.kind, id);
      if (access::always(mode, *caller, demand.permission)) continue;
      const auto place = co_await find(s, demand.permission, demand.kind, id, &request);
      if (!place) continue;  // its handler says what is missing
      const auto allowed = answer(s, *caller, *place, demand.kind, id);
      if (!allowed) co_return tl::unexpected(allowed.error());
    }
  co_return about;
}

asio::awaitable<Result<void>> may(Services& s, std::any principal, Permission permission, Kind kind,
                                  json::value id) {
  const auto caller = caller_of(s, principal);
  if (!caller) co_return tl::unexpected(caller.error());
  if (access::always(s.roles.mode(), *caller, permission)) co_return Result<void>{};
  const auto place = co_await find(s, permission, kind, id, nullptr);
  if (!place) co_return Result<void>{};
  co_return answer(s, *caller, *place, kind, id);
}

Result<void> may_in(Services& s, const std::any& principal, Permission permission, std::int64_t workspace) {
  DET_TRY(const auto caller, caller_of(s, principal));
  const auto* record = s.workspaces.find(WorkspaceId(workspace));
  const auto object = in_workspace(
      s, workspace, fmt::format("workspace '{}'", record == nullptr ? "" : record->name), {caller.user});
  return answer(s, caller, Place{object, permission}, Kind::Workspace, workspace);
}

Sight::Sight(Services& s, const std::any& principal, Permission permission) : s_(s) {
  const auto caller = caller_of(s, principal);
  workspaces_ =
      caller ? access::where(s.roles.mode(), *caller, permission) : std::optional(std::set<std::int64_t>{});
}

bool Sight::project(std::int64_t id) const {
  if (!workspaces_) return true;
  const auto* project = s_.workspaces.project(ProjectId(id));
  return workspaces_->contains(project == nullptr ? 1 : project->workspace.value());
}

std::optional<std::vector<std::int64_t>> Sight::projects() const {
  if (!workspaces_) return std::nullopt;
  std::vector<std::int64_t> projects;
  for (const auto& [id, project] : s_.workspaces.projects())
    if (workspaces_->contains(project.workspace.value())) projects.push_back(id.value());
  return projects;
}

}  // namespace det::master
