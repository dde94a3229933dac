// The model registry: named checkpoints that are kept.

#include <algorithm>

#include "det/base/text.h"
#include "det/master/models/model_objects.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct ListQuery {
  std::string name, description, sort_by, order_by;
  std::vector<std::string> labels, users, workspace_names;
  std::vector<UserId> user_ids;
  std::vector<WorkspaceId> workspace_ids;
  std::optional<bool> archived;
  std::optional<std::int32_t> id;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(ListQuery, (),
                      (name, description, sort_by, order_by, labels, users, workspace_names, user_ids,
                       workspace_ids, archived, id, offset, limit))
struct ModelListReply {
  std::vector<ModelObject> models;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(ModelListReply, (), (models, pagination))
struct LabelsQuery {
  std::optional<WorkspaceId> workspace_id;
};
BOOST_DESCRIBE_STRUCT(LabelsQuery, (), (workspace_id))
struct ModelLabelsReply {
  std::vector<std::string> labels;
};
BOOST_DESCRIBE_STRUCT(ModelLabelsReply, (), (labels))
struct ModelCreateRequest {
  std::string name, description, notes;
  std::vector<std::string> labels;
  json::object metadata;
  std::optional<WorkspaceId> workspace_id;
  std::string workspace_name;  ///< or its id; neither: "Uncategorized"
  static bool required(std::string_view name) { return name == "name"; }
};
BOOST_DESCRIBE_STRUCT(ModelCreateRequest, (),
                      (name, description, notes, labels, metadata, workspace_id, workspace_name))
struct ByName {
  std::string model_name;
};
BOOST_DESCRIBE_STRUCT(ByName, (), (model_name))
struct ModelPatchRequest {
  std::string model_name;
  std::optional<std::string> name, description, notes;
  std::optional<std::vector<std::string>> labels;
  std::optional<json::object> metadata;
  std::optional<WorkspaceId> workspace_id;
  std::string workspace_name;  ///< to move it there, or by id
};
BOOST_DESCRIBE_STRUCT(ModelPatchRequest, (),
                      (model_name, name, description, notes, labels, metadata, workspace_id, workspace_name))
struct ModelMoveRequest {
  std::string model_name;
  WorkspaceId destination_workspace_id;
  static bool required(std::string_view name) { return name == "destination_workspace_id"; }
};
BOOST_DESCRIBE_STRUCT(ModelMoveRequest, (), (model_name, destination_workspace_id))
struct ModelReply {
  ModelObject model;
};
BOOST_DESCRIBE_STRUCT(ModelReply, (), (model))

bool has_all(const std::vector<std::string>& labels, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  });
}

/// Where a model can be put: an open workspace in which the caller may create models, named by its id, by its
/// name, or by both.
Result<WorkspaceId> model_place(Services& s, const Context& context, std::optional<WorkspaceId> id,
                                const std::string& name) {
  const auto* found = id ? s.workspaces.find(*id) : s.workspaces.find(name);
  const auto said = id ? fmt::format("{}", *id) : fmt::format("'{}'", name);
  if (found == nullptr) return not_found("workspace {} not found", said);
  if (auto allowed = may_in(s, context.principal, access::Permission::CreateModelRegistry, found->id.value());
      !allowed)
    return tl::unexpected(std::move(allowed).error());
  if (id && !name.empty() && found->name != name)
    return invalid_argument(
        "workspaceId {} is workspace '{}', but workspaceName is '{}'; give only one of them", *id,
        found->name, name);
  if (found->archived)
    return failed_precondition("workspace '{}' is archived and accepts nothing new; unarchive it first",
                               found->name);
  return found->id;
}

asio::awaitable<Result<ModelListReply>> list(Services& s, Context context, ListQuery q) {
  std::vector<ModelRecord> found;
  for (auto name : q.users) {
    if (name == "me")
      if (const auto me = require_actor(s, context.principal)) name = me->username;
    const auto* user = s.auth.user(name);
    q.user_ids.push_back(user != nullptr ? user->id : UserId{-1});
  }
  for (const auto& name : q.workspace_names) {
    const auto* workspace = s.workspaces.find(name);
    q.workspace_ids.push_back(workspace != nullptr ? workspace->id : WorkspaceId{-1});
  }
  const Sight sight(s, context.principal, access::Permission::ViewModelRegistry);
  for (const auto& [id, model] : s.registry.models()) {
    if (!sight.workspace(model.workspace.value())) continue;
    if (!q.workspace_ids.empty() &&
        std::find(q.workspace_ids.begin(), q.workspace_ids.end(), model.workspace) == q.workspace_ids.end())
      continue;
    if (q.id && id.value() != *q.id) continue;
    if (q.archived && model.archived != *q.archived) continue;
    if (!contains_ignoring_case(model.name, q.name) ||
        !contains_ignoring_case(model.description, q.description))
      continue;
    if (!has_all(model.labels, q.labels)) continue;
    if (!q.user_ids.empty() &&
        std::find(q.user_ids.begin(), q.user_ids.end(), model.owner) == q.user_ids.end())
      continue;
    found.push_back(model);
  }
  std::stable_sort(found.begin(), found.end(), [&](const ModelRecord& a, const ModelRecord& b) {
    if (q.sort_by == "SORT_BY_NAME") return a.name < b.name;
    if (q.sort_by == "SORT_BY_DESCRIPTION") return a.description < b.description;
    if (q.sort_by == "SORT_BY_LAST_UPDATED_TIME")
      return a.last_updated_time.microseconds < b.last_updated_time.microseconds;
    if (q.sort_by == "SORT_BY_NUM_VERSIONS")
      return s.registry.version_count(a.id) < s.registry.version_count(b.id);
    return a.id < b.id;
  });
  if (q.order_by == "ORDER_BY_DESC") std::reverse(found.begin(), found.end());
  const auto span = page_of(found.size(), q.offset, q.limit);
  ModelListReply reply{.models = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.models.push_back(to_object(s, found[i]));
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<ModelReply>> create(Services& s, Context context, ModelCreateRequest request) {
  const auto user = require_actor(s, context.principal);
  if (!user) co_return tl::unexpected(user.error());
  if (!request.workspace_id && request.workspace_name.empty())
    request.workspace_id = store::kUncategorizedWorkspace;
  const auto workspace = model_place(s, context, request.workspace_id, request.workspace_name);
  if (!workspace) co_return tl::unexpected(workspace.error());
  const auto now = s.ledger.now();
  ModelRecord record{.id = ModelId(0),
                     .name = request.name,
                     .description = std::move(request.description),
                     .notes = std::move(request.notes),
                     .labels = std::move(request.labels),
                     .metadata = std::move(request.metadata),
                     .owner = user->id,
                     .creation_time = now,
                     .last_updated_time = now,
                     .workspace = *workspace};
  auto changes = s.registry.create(std::move(record));
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  const auto made = find_model(s, request.name);
  if (!made) co_return tl::unexpected(made.error());
  co_return ModelReply{to_object(s, *made)};
}

asio::awaitable<Result<ModelReply>> change(Services& s, ModelRecord record) {
  record.last_updated_time = s.ledger.now();
  const ModelReply reply{to_object(s, record)};
  auto changes = s.registry.change(std::move(record));
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  co_return reply;
}

asio::awaitable<Result<ModelReply>> patch(Services& s, Context context, ModelPatchRequest request) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  auto record = find_model(s, request.model_name);
  if (!record) co_return tl::unexpected(record.error());
  if (request.name) record->name = *request.name;
  if (request.description) record->description = *request.description;
  if (request.notes) record->notes = *request.notes;
  if (request.labels) record->labels = *request.labels;
  if (request.metadata) record->metadata = *request.metadata;
  if (request.workspace_id || !request.workspace_name.empty()) {
    const auto workspace = model_place(s, context, request.workspace_id, request.workspace_name);
    if (!workspace) co_return tl::unexpected(workspace.error());
    record->workspace = *workspace;
  }
  co_return co_await change(s, *std::move(record));
}

asio::awaitable<Result<Empty>> move_model(Services& s, Context context, ModelMoveRequest request) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  auto record = find_model(s, request.model_name);
  if (!record) co_return tl::unexpected(record.error());
  const auto workspace = model_place(s, context, request.destination_workspace_id, "");
  if (!workspace) co_return tl::unexpected(workspace.error());
  record->workspace = *workspace;
  const auto changed = co_await change(s, *std::move(record));
  if (!changed) co_return tl::unexpected(changed.error());
  co_return Empty{};
}

asio::awaitable<Result<Empty>> archive(Services& s, Context context, std::string name, bool archived) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  auto record = find_model(s, name);
  if (!record) co_return tl::unexpected(record.error());
  record->archived = archived;
  const auto changed = co_await change(s, *std::move(record));
  if (!changed) co_return tl::unexpected(changed.error());
  co_return Empty{};
}

asio::awaitable<Result<Empty>> remove(Services& s, Context context, std::string name) {
  const auto user = require_actor(s, context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto record = find_model(s, name);
  if (!record) co_return tl::unexpected(record.error());
  auto changes = s.registry.remove(record->id);
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

/// The most used first, of the models that the caller sees.
std::vector<std::string> all_labels(Services& s, const Context& context, std::optional<WorkspaceId> in) {
  const Sight sight(s, context.principal, access::Permission::ViewModelRegistry);
  std::map<std::string, int> uses;
  for (const auto& [id, model] : s.registry.models()) {
    if (!sight.workspace(model.workspace.value()) || (in && model.workspace != *in)) continue;
    for (const auto& label : model.labels) ++uses[label];
  }
  std::vector<std::string> labels;
  for (const auto& [label, count] : uses) labels.push_back(label);
  std::stable_sort(labels.begin(), labels.end(),
                   [&](const auto& a, const auto& b) { return uses.at(a) > uses.at(b); });
  return labels;
}

const char* const kTag = "Models";
const std::vector<ErrorCode> kMissing = {ErrorCode::NotFound};

}  // namespace

ModelObject to_object(Services& s, const ModelRecord& r) {
  return {.id = r.id,
          .name = r.name,
          .description = r.description,
          .notes = r.notes,
          .labels = r.labels,
          .metadata = r.metadata,
          .archived = r.archived,
          .num_versions = static_cast<std::int32_t>(s.registry.version_count(r.id)),
          .creation_time = r.creation_time,
          .last_updated_time = r.last_updated_time,
          .user_id = r.owner,
          .username = username(s, r.owner),
          .workspace_id = r.workspace};
}

Result<ModelRecord> find_model(Services& s, const std::string& name) {
  const auto* found = s.registry.find(name);
  if (found == nullptr) return not_found("model '{}' not found", name);
  return *found;
}

void add_model_routes(http::Router& router, Services& s) {
  const std::string one = "/api/v1/models/{modelName}";
  router.add<ListQuery, ModelListReply>(
      Verb::Get, "/api/v1/models",
      [&s](Context c, ListQuery q) { return list(s, std::move(c), std::move(q)); },
      Doc{.summary = "List models", .tag = kTag});
  router.add<LabelsQuery, ModelLabelsReply>(
      Verb::Get, "/api/v1/model/labels",
      [&s](Context c, LabelsQuery q) -> asio::awaitable<Result<ModelLabelsReply>> {
        ModelLabelsReply reply{all_labels(s, c, q.workspace_id)};
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "List the labels of all models, the most used first", .tag = kTag});
  router.add<ModelCreateRequest, ModelReply>(
      Verb::Post, "/api/v1/models",
      [&s](Context c, ModelCreateRequest r) { return create(s, std::move(c), std::move(r)); },
      Doc{.summary = "Create a model",
          .tag = kTag,
          .errors = {ErrorCode::AlreadyExists, ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  router.add<ByName, ModelReply>(
      Verb::Get, one,
      [&s](Context, ByName q) -> asio::awaitable<Result<ModelReply>> {
        const auto found = find_model(s, q.model_name);
        if (!found) co_return tl::unexpected(found.error());
        ModelReply reply{to_object(s, *found)};
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "Get a model by name or id", .tag = kTag, .errors = kMissing});
  router.add<ModelPatchRequest, ModelReply>(
      Verb::Patch, one, [&s](Context c, ModelPatchRequest r) { return patch(s, std::move(c), std::move(r)); },
      Doc{.summary = "Change the name, description, notes, labels, metadata or workspace of a model",
          .tag = kTag,
          .errors = {ErrorCode::NotFound, ErrorCode::AlreadyExists}});
  router.add<ByName, Empty>(
      Verb::Delete, one,
      [&s](Context c, ByName q) { return remove(s, std::move(c), std::move(q.model_name)); },
      Doc{.summary =
              "Delete a model and its versions; their checkpoints are no longer protected from deletion",
          .tag = kTag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
  router.add<ModelMoveRequest, Empty>(
      Verb::Post, "/api/v1/models/{modelName}/move",
      [&s](Context c, ModelMoveRequest r) { return move_model(s, std::move(c), std::move(r)); },
      Doc{.summary = "Move a model to another workspace",
          .tag = kTag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition}});
  for (const auto& [word, archived] : {std::pair{"archive", true}, std::pair{"unarchive", false}})
    router.add<ByName, Empty>(
        Verb::Post, fmt::format("/api/v1/models/{{modelName}}/{}", word),
        [&s, archived = archived](Context c, ByName q) {
          return archive(s, std::move(c), std::move(q.model_name), archived);
        },
        Doc{.summary = fmt::format("{} a model", word), .tag = kTag, .errors = kMissing});
  add_model_version_routes(router, s);
}

}  // namespace det::master
