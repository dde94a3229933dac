// Which workspaces alone may use a resource pool.

#include "det/master/objects.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/rights/rights.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct BoundQuery {
  std::string resource_pool_name;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(BoundQuery, (), (resource_pool_name, offset, limit))
struct BoundReply {
  std::vector<WorkspaceId> workspace_ids;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(BoundReply, (), (workspace_ids, pagination))
struct BindRequest {
  std::string resource_pool_name;
  std::vector<WorkspaceId> workspace_ids;
  std::vector<std::string> workspace_names;
};
BOOST_DESCRIBE_STRUCT(BindRequest, (), (resource_pool_name, workspace_ids, workspace_names))

Result<void> check_known(Services& s, const std::string& pool) {
  const auto known = s.ledger.cluster().resource_pools();
  if (!known.contains(pool))
    return not_found("resource pool '{}' not found; there are: {}", pool, fmt::join(known, ", "));
  return {};
}

Result<PoolBindings::Bound> named_workspaces(Services& s, const BindRequest& request) {
  PoolBindings::Bound named;
  for (const auto id : request.workspace_ids) {
    if (s.workspaces.find(id) == nullptr) return not_found("workspace {} not found", id);
    named.insert(id);
  }
  for (const auto& name : request.workspace_names) {
    const auto* found = s.workspaces.find(name);
    if (found == nullptr) return not_found("workspace '{}' not found", name);
    named.insert(found->id);
  }
  return named;
}

enum class Change { Add, Remove, Replace };

/// The workspaces of the pool after the change.
Result<PoolBindings::Bound> after(Services& s, const BindRequest& request, Change change) {
  if (auto known = check_known(s, request.resource_pool_name); !known)
    return tl::unexpected(std::move(known).error());
  DET_TRY(auto named, named_workspaces(s, request));
  if (change != Change::Replace && named.empty())
    return invalid_argument("the request names no workspace; give workspaceNames or workspaceIds");
  const auto& pools = s.ledger.cluster().pools();
  if (change != Change::Remove && !named.empty() &&
      (request.resource_pool_name == pools.default_compute ||
       request.resource_pool_name == pools.default_aux))
    return failed_precondition(
        "resource pool '{}' is a default pool, which everyone who names no pool uses; it cannot be "
        "bound",
        request.resource_pool_name);
  if (change == Change::Replace) return named;
  auto bound = s.bindings.of(request.resource_pool_name);
  for (const auto id : named) {
    if (change == Change::Add)
      bound.insert(id);
    else if (bound.erase(id) == 0)
      return failed_precondition("resource pool '{}' is not bound to workspace '{}'",
                                 request.resource_pool_name, s.workspaces.find(id)->name);
  }
  return bound;
}

asio::awaitable<Result<Empty>> rebind(Services& s, BindRequest request, Change change) {
  auto bound = after(s, request, change);
  if (!bound) co_return tl::unexpected(bound.error());
  auto changes = s.bindings.set(request.resource_pool_name, *std::move(bound));
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

asio::awaitable<Result<BoundReply>> show(Services& s, Context context, BoundQuery q) {
  if (const auto known = check_known(s, q.resource_pool_name); !known)
    co_return tl::unexpected(known.error());
  const Sight sight(s, context.principal, access::Permission::ViewWorkspace);
  std::vector<WorkspaceId> seen;
  for (const auto id : s.bindings.of(q.resource_pool_name))
    if (sight.workspace(id.value())) seen.push_back(id);
  const auto span = page_of(seen.size(), q.offset, q.limit);
  BoundReply reply{.workspace_ids = {}, .pagination = span.pagination};
  for (auto i = span.begin; i < span.end; ++i) reply.workspace_ids.push_back(seen[i]);
  co_await s.ledger.durable();
  co_return reply;
}

}  // namespace

void add_pool_binding_routes(http::Router& router, Services& s) {
  const std::string path = "/api/v1/resource-pools/{resourcePoolName}/workspace-bindings";
  router.add<BoundQuery, BoundReply>(
      Verb::Get, path, [&s](Context c, BoundQuery q) { return show(s, std::move(c), std::move(q)); },
      Doc{.summary =
              "List the workspaces that a resource pool is bound to; a pool without bindings is open to all",
          .tag = "Cluster",
          .errors = {ErrorCode::NotFound}});
  struct Call {
    Verb verb;
    Change change;
    const char* summary;
  };
  for (const auto& call :
       {Call{Verb::Post, Change::Add, "Bind a resource pool to more workspaces"},
        Call{Verb::Put, Change::Replace, "Bind a resource pool to exactly the given workspaces"},
        Call{Verb::Delete, Change::Remove, "Remove the bindings of a resource pool to the given workspaces"}})
    router.add<BindRequest, Empty>(
        call.verb, path,
        [&s, change = call.change](Context, BindRequest r) { return rebind(s, std::move(r), change); },
        Doc{.summary = call.summary,
            .tag = "Cluster",
            .errors = {ErrorCode::NotFound, ErrorCode::FailedPrecondition, ErrorCode::PermissionDenied},
            .takes_body = call.verb == Verb::Delete});
}

}  // namespace det::master
