// Projects: experiments that belong together, and moving experiments between them.

#include <algorithm>

#include "det/base/text.h"
#include "det/master/experiments/experiment_actions.h"
#include "det/master/experiments/experiment_patch.h"
#include "det/master/objects.h"
#include "det/master/workspaces/place_deletion.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct ListQuery {
  WorkspaceId id;
  std::string name, sort_by, order_by;
  std::vector<std::string> users;
  std::vector<UserId> user_ids;
  std::optional<bool> archived;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(ListQuery, (), (id, name, sort_by, order_by, users, user_ids, archived, offset, limit))
struct ProjectListReply {
  std::vector<ProjectObject> projects;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(ProjectListReply, (), (projects, pagination))
struct ById {
  ProjectId id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (id))
struct ByKey {
  std::string key;
};
BOOST_DESCRIBE_STRUCT(ByKey, (), (key))
struct ProjectCreateRequest {
  WorkspaceId workspace_id;
  std::string name, description, key;
  static bool required(std::string_view name) { return name == "name"; }
};
BOOST_DESCRIBE_STRUCT(ProjectCreateRequest, (), (workspace_id, name, description, key))
struct PatchProject {
  ProjectId id;
  std::optional<std::string> name, description, key;
};
BOOST_DESCRIBE_STRUCT(PatchProject, (), (id, name, description, key))
struct ProjectReply {
  ProjectObject project;
};
BOOST_DESCRIBE_STRUCT(ProjectReply, (), (project))
struct ProjectDeleteReply {
  bool completed = true;
};
BOOST_DESCRIBE_STRUCT(ProjectDeleteReply, (), (completed))
struct ProjectMoveRequest {
  ProjectId project_id;
  WorkspaceId destination_workspace_id;
  static bool required(std::string_view name) { return name == "destination_workspace_id"; }
};
BOOST_DESCRIBE_STRUCT(ProjectMoveRequest, (), (project_id, destination_workspace_id))
struct PutNotesRequest {
  ProjectId project_id;
  std::vector<store::ProjectNote> notes;
};
BOOST_DESCRIBE_STRUCT(PutNotesRequest, (), (project_id, notes))
struct AddNoteRequest {
  ProjectId project_id;
  std::string name, contents;
};
BOOST_DESCRIBE_STRUCT(AddNoteRequest, (), (project_id, name, contents))
struct NotesReply {
  std::vector<store::ProjectNote> notes;
};
BOOST_DESCRIBE_STRUCT(NotesReply, (), (notes))
struct MoveExperimentRequest {
  ExperimentId experiment_id;
  ProjectId destination_project_id;
  static bool required(std::string_view name) { return name == "destination_project_id"; }
};
BOOST_DESCRIBE_STRUCT(MoveExperimentRequest, (), (experiment_id, destination_project_id))

asio::awaitable<Result<ProjectListReply>> list(Services& s, Context context, ListQuery q) {
  const auto workspace = find_workspace(s, q.id);
  if (!workspace) co_return tl::unexpected(workspace.error());
  for (const auto id : ids_of(s, context.principal, q.users)) q.user_ids.push_back(id);
  const auto counts = co_await count_projects(s);
  std::vector<ProjectObject> found;
  for (const auto& [id, record] : s.workspaces.projects()) {
    if (record.workspace != q.id) continue;
    if (q.archived && s.workspaces.closed(record) != *q.archived) continue;
    if (!q.user_ids.empty() &&
        std::find(q.user_ids.begin(), q.user_ids.end(), record.owner) == q.user_ids.end())
      continue;
    found.push_back(to_object(s, record, counts));
  }
  keep_named(found, q.name);
  std::stable_sort(found.begin(), found.end(), [&](const ProjectObject& a, const ProjectObject& b) {
    if (q.sort_by == "SORT_BY_NAME") return to_lower(a.name) < to_lower(b.name);
    if (q.sort_by == "SORT_BY_DESCRIPTION") return to_lower(a.description) < to_lower(b.description);
    if (q.sort_by == "SORT_BY_LAST_EXPERIMENT_START_TIME")
      return a.last_experiment_started_at.value_or(Time{}).microseconds <
             b.last_experiment_started_at.value_or(Time{}).microseconds;
    return a.id < b.id;
  });
  if (q.order_by == "ORDER_BY_DESC") std::reverse(found.begin(), found.end());
  const auto span = page_of(found.size(), q.offset, q.limit);
  ProjectListReply reply{.projects = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.projects.push_back(std::move(found[i]));
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<ProjectReply>> show(Services& s, ProjectId id) {
  const auto counts = co_await count_projects(s);
  const auto record = find_project(s, id);
  if (!record) co_return tl::unexpected(record.error());
  ProjectReply reply{to_object(s, *record, counts)};
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<ProjectReply>> create(Services& s, Context context, ProjectCreateRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  ProjectRecord record{.workspace = request.workspace_id,
                       .name = std::move(request.name),
                       .key = std::move(request.key),
                       .description = std::move(request.description),
                       .owner = user->id,
                       .creation_time = s.ledger.now()};
  auto changes = s.workspaces.create(record);
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  co_return ProjectReply{to_object(s, record, {})};
}

/// The project, changed by `edit`.
template <class Edit>
asio::awaitable<Result<ProjectRecord>> edited(Services& s, Context context, ProjectId id, Edit edit) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  auto record = find_project(s, id);
  if (!record) co_return tl::unexpected(record.error());
  edit(*record);
  auto changes = s.workspaces.change(*record);
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  co_return record;
}

asio::awaitable<Result<ProjectReply>> patch(Services& s, Context context, PatchProject request) {
  auto edit = [&](ProjectRecord& record) {
    if (request.name) record.name = *request.name;
    if (request.description) record.description = *request.description;
    if (request.key) record.key = *request.key;
  };
  const auto done = co_await edited(s, std::move(context), request.id, edit);
  if (!done) co_return tl::unexpected(done.error());
  co_return co_await show(s, request.id);
}

asio::awaitable<Result<Empty>> archive(Services& s, Context context, ProjectId id, bool archived) {
  auto edit = [archived](ProjectRecord& record) { record.archived = archived; };
  const auto done = co_await edited(s, std::move(context), id, edit);
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

asio::awaitable<Result<Empty>> move(Services& s, Context context, ProjectMoveRequest request) {
  const auto target = find_workspace(s, request.destination_workspace_id);
  if (!target) co_return tl::unexpected(target.error());
  if (target->archived)
    co_return failed_precondition("workspace '{}' is archived and accepts no projects; unarchive it first",
                                  target->name);
  auto edit = [&](ProjectRecord& record) { record.workspace = target->id; };
  const auto done = co_await edited(s, std::move(context), request.project_id, edit);
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

asio::awaitable<Result<NotesReply>> put_notes(Services& s, Context context, PutNotesRequest request) {
  auto edit = [&](ProjectRecord& record) { record.notes = request.notes; };
  auto done = co_await edited(s, std::move(context), request.project_id, edit);
  if (!done) co_return tl::unexpected(done.error());
  co_return NotesReply{std::move(done->notes)};
}

asio::awaitable<Result<NotesReply>> add_note(Services& s, Context context, AddNoteRequest request) {
  auto edit = [&](ProjectRecord& record) { record.notes.push_back({request.name, request.contents}); };
  auto done = co_await edited(s, std::move(context), request.project_id, edit);
  if (!done) co_return tl::unexpected(done.error());
  co_return NotesReply{std::move(done->notes)};
}

asio::awaitable<Result<ProjectDeleteReply>> remove(Services& s, Context context, ById q) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto gone = co_await delete_project(s, std::move(context), q.id);
  if (!gone) co_return tl::unexpected(gone.error());
  co_return ProjectDeleteReply{*gone};
}

}  // namespace

asio::awaitable<Result<Empty>> move_experiment(Services& s, Context context, ExperimentId id,
                                               ProjectId project) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  if (const auto open = s.workspaces.check_open(project); !open) co_return tl::unexpected(open.error());
  ExperimentPatchRequest change{.id = id};
  change.project_id = project.value();
  auto by = principal_name(context.principal);
  const auto turn = co_await s.edits.take(id);
  const auto done = co_await patch_experiment(s, std::move(change), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

void add_project_routes(http::Router& router, Services& s) {
  const std::string tag = "Projects";
  const std::vector<ErrorCode> refusals = {ErrorCode::NotFound, ErrorCode::PermissionDenied,
                                           ErrorCode::FailedPrecondition};
  router.add<ListQuery, ProjectListReply>(
      Verb::Get, "/api/v1/workspaces/{id}/projects",
      [&s](Context c, ListQuery q) { return list(s, std::move(c), std::move(q)); },
      Doc{.summary = "List the projects of a workspace", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<ProjectCreateRequest, ProjectReply>(
      Verb::Post, "/api/v1/workspaces/{workspaceId}/projects",
      [&s](Context c, ProjectCreateRequest r) { return create(s, std::move(c), std::move(r)); },
      Doc{.summary = "Create a project",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::AlreadyExists, ErrorCode::FailedPrecondition}});
  router.add<ById, ProjectReply>(
      Verb::Get, "/api/v1/projects/{id}", [&s](Context, ById q) { return show(s, q.id); },
      Doc{.summary = "Get a project", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<ByKey, ProjectReply>(
      Verb::Get, "/api/v1/projects/key/{key}",
      [&s](Context, ByKey q) -> asio::awaitable<Result<ProjectReply>> {
        const auto* found = s.workspaces.project_with_key(q.key);
        if (found == nullptr) co_return not_found("project with the key '{}' not found", q.key);
        co_return co_await show(s, found->id);
      },
      Doc{.summary = "Get a project by key", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<PatchProject, ProjectReply>(
      Verb::Patch, "/api/v1/projects/{id}",
      [&s](Context c, PatchProject r) { return patch(s, std::move(c), std::move(r)); },
      Doc{.summary = "Change a project",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied, ErrorCode::AlreadyExists}});
  router.add<ById, ProjectDeleteReply>(
      Verb::Delete, "/api/v1/projects/{id}", [&s](Context c, ById q) { return remove(s, std::move(c), q); },
      Doc{.summary = "Delete a project and all experiments in it", .tag = tag, .errors = refusals});
  for (const bool on : {true, false})
    router.add<ById, Empty>(
        Verb::Post, on ? "/api/v1/projects/{id}/archive" : "/api/v1/projects/{id}/unarchive",
        [&s, on](Context c, ById q) { return archive(s, std::move(c), q.id, on); },
        Doc{.summary = on ? "Archive a project, so that it accepts nothing new" : "Unarchive a project",
            .tag = tag,
            .errors = refusals});
  router.add<ProjectMoveRequest, Empty>(
      Verb::Post, "/api/v1/projects/{projectId}/move",
      [&s](Context c, ProjectMoveRequest r) { return move(s, std::move(c), r); },
      Doc{.summary = "Move a project to another workspace",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition, ErrorCode::AlreadyExists}});
  router.add<PutNotesRequest, NotesReply>(
      Verb::Put, "/api/v1/projects/{projectId}/notes",
      [&s](Context c, PutNotesRequest r) { return put_notes(s, std::move(c), std::move(r)); },
      Doc{.summary = "Replace the notes of a project", .tag = tag, .errors = refusals});
  router.add<AddNoteRequest, NotesReply>(
      Verb::Post, "/api/v1/projects/{projectId}/notes",
      [&s](Context c, AddNoteRequest r) { return add_note(s, std::move(c), std::move(r)); },
      Doc{.summary = "Add a note to a project", .tag = tag, .errors = refusals});
  router.add<MoveExperimentRequest, Empty>(
      Verb::Post, "/api/v1/experiments/{experimentId}/move",
      [&s](Context c, MoveExperimentRequest r) {
        return move_experiment(s, std::move(c), r.experiment_id, r.destination_project_id);
      },
      Doc{.summary = "Move an experiment to another project", .tag = "Experiments", .errors = refusals});
}

}  // namespace det::master
