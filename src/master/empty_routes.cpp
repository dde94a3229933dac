// Lists of what this platform does not have. They are empty, which is the truth, and so existing clients can
// go on.

#include "det/api/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct Any {};
BOOST_DESCRIBE_STRUCT(Any, (), ())
struct OfPool {
  std::string resource_pool_name;
};
BOOST_DESCRIBE_STRUCT(OfPool, (), (resource_pool_name))
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
