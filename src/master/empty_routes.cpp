// Lists of what this platform does not have. They are empty, which is the truth, and so existing clients can
// go on.

#include "det/master/services.h"
#include "det/master/workspace_objects.h"
#include "det/master/workspaces.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct Any {};
BOOST_DESCRIBE_STRUCT(Any, (), ())
struct OfUser {
  UserId user_id;
};
BOOST_DESCRIBE_STRUCT(OfUser, (), (user_id))
struct OfWorkspace {
  WorkspaceId workspace_id;
};
BOOST_DESCRIBE_STRUCT(OfWorkspace, (), (workspace_id))
struct OfPool {
  std::string resource_pool_name;
};
BOOST_DESCRIBE_STRUCT(OfPool, (), (resource_pool_name))
struct Roles {
  json::array roles;
};
BOOST_DESCRIBE_STRUCT(Roles, (), (roles))
struct Members {
  json::array groups, assignments, users_assigned_directly;
};
BOOST_DESCRIBE_STRUCT(Members, (), (groups, assignments, users_assigned_directly))
struct Managers {
  json::array resource_managers;
};
BOOST_DESCRIBE_STRUCT(Managers, (), (resource_managers))
struct Bound {
  std::vector<std::int32_t> workspace_ids;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(Bound, (), (workspace_ids, pagination))

}  // namespace

void add_empty_routes(http::Router& router, Services& s) {
  const std::vector<ErrorCode> missing = {ErrorCode::NotFound};
  router.add<OfUser, Roles>(
      Verb::Get, "/api/v1/roles/search/by-user/{userId}",
      [&s](Context, OfUser q) -> asio::awaitable<Result<Roles>> {
        if (!s.auth.users().contains(q.user_id)) co_return not_found("user '{}' not found", q.user_id);
        co_return Roles{};
      },
      Doc{.summary = "Roles of a user: there are none, users are administrators or not",
          .tag = "Users",
          .errors = missing});
  router.add<OfWorkspace, Members>(
      Verb::Get, "/api/v1/roles/workspace/{workspaceId}",
      [&s](Context, OfWorkspace q) -> asio::awaitable<Result<Members>> {
        if (const auto found = find_workspace(s, q.workspace_id); !found)
          co_return tl::unexpected(found.error());
        co_return Members{};
      },
      Doc{.summary = "Who has a role in a workspace: nobody, all users see everything",
          .tag = "Workspaces",
          .errors = missing});
  router.add<Any, Managers>(
      Verb::Get, "/api/v1/k8s-resource-managers",
      [](Context, Any) -> asio::awaitable<Result<Managers>> { co_return Managers{}; },
      Doc{.summary = "Kubernetes clusters: there are none", .tag = "Cluster"});
  router.add<OfPool, Bound>(
      Verb::Get, "/api/v1/resource-pools/{resourcePoolName}/workspace-bindings",
      [&s](Context, OfPool q) -> asio::awaitable<Result<Bound>> {
        if (!s.ledger.cluster().resource_pools().contains(q.resource_pool_name))
          co_return not_found("cannot find resource pool {}", q.resource_pool_name);
        co_return Bound{};
      },
      Doc{.summary = "Workspaces that alone may use a pool: none, pools are open to all",
          .tag = "Cluster",
          .errors = missing});
}

}  // namespace det::master
