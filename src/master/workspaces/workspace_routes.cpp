// Workspaces: whose projects are together.

#include <algorithm>

#include "det/base/text.h"
#include "det/config/schema/layer.h"
#include "det/master/models/registry.h"
#include "det/master/objects.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/rights/rights.h"
#include "det/master/rights/role_book.h"
#include "det/master/workspaces/place_deletion.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct ListQuery {
  std::string name, name_case_sensitive, sort_by, order_by;
  std::vector<std::string> users;
  std::vector<UserId> user_ids;
  std::optional<bool> archived, pinned;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(ListQuery, (),
                      (name, name_case_sensitive, sort_by, order_by, users, user_ids, archived, pinned,
                       offset, limit))
struct WorkspaceListReply {
  std::vector<WorkspaceObject> workspaces;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(WorkspaceListReply, (), (workspaces, pagination))
struct ById {
  WorkspaceId id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (id))
struct WorkspaceCreateRequest {
  std::string name, default_compute_pool, default_aux_pool;
  json::value checkpoint_storage_config;
  std::optional<config::AgentUserGroup> agent_user_group;
  static bool required(std::string_view name) { return name == "name"; }
};
BOOST_DESCRIBE_STRUCT(WorkspaceCreateRequest, (),
                      (name, default_compute_pool, default_aux_pool, checkpoint_storage_config,
                       agent_user_group))
struct WorkspacePatchRequest {
  WorkspaceId id;
  std::optional<std::string> name;
  std::optional<std::string> default_compute_pool, default_compute_resource_pool;
  std::optional<std::string> default_aux_pool, default_aux_resource_pool;
  std::optional<json::value> checkpoint_storage_config;  ///< {}: the cluster's; null: unchanged
  std::optional<json::value> agent_user_group;           ///< {}: none; null: unchanged
};
BOOST_DESCRIBE_STRUCT(WorkspacePatchRequest, (),
                      (id, name, default_compute_pool, default_compute_resource_pool, default_aux_pool,
                       default_aux_resource_pool, checkpoint_storage_config, agent_user_group))
struct WorkspaceReply {
  WorkspaceObject workspace;
  std::map<std::string, std::string> namespace_bindings{};  ///< of Kubernetes: none
};
BOOST_DESCRIBE_STRUCT(WorkspaceReply, (), (workspace, namespace_bindings))
struct WorkspaceDeleteReply {
  bool completed = true;
};
BOOST_DESCRIBE_STRUCT(WorkspaceDeleteReply, (), (completed))
struct PoolsQuery {
  WorkspaceId workspace_id;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(PoolsQuery, (), (workspace_id, offset, limit))
struct WorkspacePoolsReply {
  std::vector<std::string> resource_pools;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(WorkspacePoolsReply, (), (resource_pools, pagination))

Result<void> check_pools(Services& s, const std::vector<std::string>& names) {
  const auto known = s.ledger.cluster().resource_pools();
  for (const auto& name : names)
    if (!name.empty() && !known.contains(name))
      return not_found("resource pool '{}' not found; there are: {}", name, fmt::join(known, ", "));
  return {};
}

asio::awaitable<Result<WorkspaceListReply>> list(Services& s, Context context, ListQuery q) {
  const auto user = require_actor(s, context.principal);
  if (!user) co_return tl::unexpected(user.error());
  for (const auto id : ids_of(s, context.principal, q.users)) q.user_ids.push_back(id);
  const auto counts = co_await count_projects(s);
  std::vector<WorkspaceObject> found;
  const Sight sight(s, context.principal, access::Permission::ViewWorkspace);
  for (const auto& [id, record] : s.workspaces.all()) {
    if (!sight.workspace(id.value())) continue;
    if (!q.name_case_sensitive.empty() && record.name != q.name_case_sensitive) continue;
    if (q.archived && record.archived != *q.archived) continue;
    if (q.pinned && s.workspaces.pinned(user->id, id).has_value() != *q.pinned) continue;
    if (!q.user_ids.empty() &&
        std::find(q.user_ids.begin(), q.user_ids.end(), record.owner) == q.user_ids.end())
      continue;
    found.push_back(to_object(s, record, counts, user->id));
  }
  keep_named(found, q.name);
  std::stable_sort(found.begin(), found.end(), [&](const WorkspaceObject& a, const WorkspaceObject& b) {
    return q.sort_by == "SORT_BY_NAME" ? to_lower(a.name) < to_lower(b.name) : a.id < b.id;
  });
  if (q.order_by == "ORDER_BY_DESC") std::reverse(found.begin(), found.end());
  const auto span = page_of(found.size(), q.offset, q.limit);
  WorkspaceListReply reply{.workspaces = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.workspaces.push_back(std::move(found[i]));
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<WorkspaceReply>> show(Services& s, Context context, ById q) {
  const auto user = require_actor(s, context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto counts = co_await count_projects(s);
  const auto record = find_workspace(s, q.id);
  if (!record) co_return tl::unexpected(record.error());
  WorkspaceReply reply{to_object(s, *record, counts, user->id)};
  co_await s.ledger.durable();
  co_return reply;
}

/// Null where the map is empty: the cluster's.
json::value or_clusters(json::value storage) {
  const bool is_empty = storage.is_object() && storage.get_object().empty();
  return is_empty ? json::value() : storage;
}

/// Part of a configuration, or null: the cluster's.
Result<void> check_storage(Services& s, const json::value& storage) {
  if (storage.is_null()) return {};
  if (!storage.is_object())
    return invalid_argument(
        "checkpointStorageConfig must be a map of settings, or {{}} to use the cluster's storage");
  const auto problems =
      config::check_template(json::serialize(json::object{{"checkpoint_storage", storage}}), s.defaults);
  if (problems.empty()) return {};
  return invalid_argument("checkpointStorageConfig is not valid:\n{}", join_errors(problems).message());
}

asio::awaitable<Result<WorkspaceReply>> create(Services& s, Context context, WorkspaceCreateRequest request) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  if (const auto fine = check_storage(s, request.checkpoint_storage_config); !fine)
    co_return tl::unexpected(fine.error());
  if (request.agent_user_group)
    if (auto wrong = config::problem(*request.agent_user_group, false)) co_return tl::unexpected(*wrong);
  if (const auto known = check_pools(s, {request.default_compute_pool, request.default_aux_pool}); !known)
    co_return tl::unexpected(known.error());
  for (const auto& name : {request.default_compute_pool, request.default_aux_pool})
    if (const auto open = check_pool(s, WorkspaceId(0), name); !open) co_return tl::unexpected(open.error());
  WorkspaceRecord record{.name = std::move(request.name),
                         .owner = user->id,
                         .creation_time = s.ledger.now(),
                         .default_compute_pool = std::move(request.default_compute_pool),
                         .default_aux_pool = std::move(request.default_aux_pool),
                         .checkpoint_storage = or_clusters(std::move(request.checkpoint_storage_config)),
                         .agent_user_group = std::move(request.agent_user_group)};
  auto changes = s.workspaces.create(record);
  if (!changes) co_return tl::unexpected(changes.error());
  // Who made it can work in it, whatever else they may do.
  const std::vector<RoleBook::Record> admin = {
      {user->id, access::kWorkspaceAdmin.value(), record.id.value()}};
  for (auto& change : s.roles.assign(admin)) changes->push_back(std::move(change));
  co_await s.ledger.write(*std::move(changes));
  co_return WorkspaceReply{to_object(s, record, {}, user->id)};
}

/// The workspace, changed by `edit`.
template <class Edit>
asio::awaitable<Result<WorkspaceReply>> edited(Services& s, Context context, WorkspaceId id, Edit edit) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  auto record = find_workspace(s, id);
  if (!record) co_return tl::unexpected(record.error());
  edit(*record);
  auto changes = s.workspaces.change(*record);
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  const auto counts = co_await count_projects(s);
  co_return WorkspaceReply{to_object(s, *record, counts, user->id)};
}

asio::awaitable<Result<WorkspaceReply>> patch(Services& s, Context context, WorkspacePatchRequest request) {
  const auto& compute =
      request.default_compute_pool ? request.default_compute_pool : request.default_compute_resource_pool;
  const auto& aux = request.default_aux_pool ? request.default_aux_pool : request.default_aux_resource_pool;
  if (const auto known = check_pools(s, {compute.value_or(""), aux.value_or("")}); !known)
    co_return tl::unexpected(known.error());
  for (const auto& name : {compute.value_or(""), aux.value_or("")})
    if (const auto open = check_pool(s, request.id, name); !open) co_return tl::unexpected(open.error());
  // Clients send null for what they leave alone.
  if (request.checkpoint_storage_config && request.checkpoint_storage_config->is_null())
    request.checkpoint_storage_config.reset();
  if (request.agent_user_group && request.agent_user_group->is_null()) request.agent_user_group.reset();
  if (request.checkpoint_storage_config)
    if (const auto fine = check_storage(s, *request.checkpoint_storage_config); !fine)
      co_return tl::unexpected(fine.error());
  std::optional<config::AgentUserGroup> group;
  if (request.agent_user_group) {
    auto read = http::from_wire<config::AgentUserGroup>(*request.agent_user_group);
    if (!read) co_return tl::unexpected(read.error());
    if (auto wrong = config::problem(*read, false)) co_return tl::unexpected(*wrong);
    if (*read != config::AgentUserGroup{}) group = *std::move(read);
  }
  auto edit = [&](WorkspaceRecord& record) {
    if (request.name) record.name = *request.name;
    if (compute) record.default_compute_pool = *compute;
    if (aux) record.default_aux_pool = *aux;
    if (request.checkpoint_storage_config)
      record.checkpoint_storage = or_clusters(*request.checkpoint_storage_config);
    if (request.agent_user_group) record.agent_user_group = group;
  };
  co_return co_await edited(s, std::move(context), request.id, edit);
}

asio::awaitable<Result<Empty>> archive(Services& s, Context context, WorkspaceId id, bool archived) {
  auto edit = [archived](WorkspaceRecord& record) { record.archived = archived; };
  const auto done = co_await edited(s, std::move(context), id, edit);
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

asio::awaitable<Result<WorkspaceDeleteReply>> remove(Services& s, Context context, ById q) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto gone = co_await delete_workspace(s, std::move(context), q.id);
  if (!gone) co_return tl::unexpected(gone.error());
  co_return WorkspaceDeleteReply{*gone};
}

asio::awaitable<Result<Empty>> pin(Services& s, Context context, WorkspaceId id, bool pinned) {
  const auto user = require_user(context.principal);
  if (!user) co_return tl::unexpected(user.error());
  const auto record = find_workspace(s, id);
  if (!record) co_return tl::unexpected(record.error());
  auto changes =
      s.workspaces.pin(user->id, id, pinned ? std::optional(s.ledger.now()) : std::optional<Time>());
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<WorkspacePoolsReply>> pools(Services& s, Context context, PoolsQuery q) {
  if (const auto user = require_actor(s, context.principal); !user) co_return tl::unexpected(user.error());
  const auto record = find_workspace(s, q.workspace_id);
  if (!record) co_return tl::unexpected(record.error());
  const auto all = pools_open_to(s, q.workspace_id);
  const auto span = page_of(all.size(), q.offset, q.limit);
  WorkspacePoolsReply reply{.resource_pools = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.resource_pools.push_back(all[i]);
  co_return reply;
}

}  // namespace

void add_workspace_routes(http::Router& router, Services& s) {
  const std::string tag = "Workspaces";
  const std::vector<ErrorCode> refusals = {ErrorCode::NotFound, ErrorCode::PermissionDenied,
                                           ErrorCode::FailedPrecondition};
  router.add<ListQuery, WorkspaceListReply>(
      Verb::Get, "/api/v1/workspaces",
      [&s](Context c, ListQuery q) { return list(s, std::move(c), std::move(q)); },
      Doc{.summary = "List workspaces", .tag = tag});
  router.add<WorkspaceCreateRequest, WorkspaceReply>(
      Verb::Post, "/api/v1/workspaces",
      [&s](Context c, WorkspaceCreateRequest r) { return create(s, std::move(c), std::move(r)); },
      Doc{.summary = "Create a workspace",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::AlreadyExists}});
  router.add<ById, WorkspaceReply>(
      Verb::Get, "/api/v1/workspaces/{id}", [&s](Context c, ById q) { return show(s, std::move(c), q); },
      Doc{.summary = "Get a workspace", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<WorkspacePatchRequest, WorkspaceReply>(
      Verb::Patch, "/api/v1/workspaces/{id}",
      [&s](Context c, WorkspacePatchRequest r) { return patch(s, std::move(c), std::move(r)); },
      Doc{.summary = "Change a workspace",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition, ErrorCode::AlreadyExists}});
  router.add<ById, WorkspaceDeleteReply>(
      Verb::Delete, "/api/v1/workspaces/{id}", [&s](Context c, ById q) { return remove(s, std::move(c), q); },
      Doc{.summary = "Delete a workspace with all projects and experiments in it",
          .tag = tag,
          .errors = refusals});
  for (const bool on : {true, false}) {
    router.add<ById, Empty>(
        Verb::Post, on ? "/api/v1/workspaces/{id}/archive" : "/api/v1/workspaces/{id}/unarchive",
        [&s, on](Context c, ById q) { return archive(s, std::move(c), q.id, on); },
        Doc{.summary = on ? "Archive a workspace, so that it accepts nothing new" : "Unarchive a workspace",
            .tag = tag,
            .errors = refusals});
    router.add<ById, Empty>(
        Verb::Post, on ? "/api/v1/workspaces/{id}/pin" : "/api/v1/workspaces/{id}/unpin",
        [&s, on](Context c, ById q) { return pin(s, std::move(c), q.id, on); },
        Doc{.summary = on ? "Pin a workspace for the caller" : "Unpin a workspace for the caller",
            .tag = tag,
            .errors = {ErrorCode::NotFound}});
  }
  router.add<PoolsQuery, WorkspacePoolsReply>(
      Verb::Get, "/api/v1/workspaces/{workspaceId}/available-resource-pools",
      [&s](Context c, PoolsQuery q) { return pools(s, std::move(c), q); },
      Doc{.summary = "List the resource pools that a workspace can use",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master
