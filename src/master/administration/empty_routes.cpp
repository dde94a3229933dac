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
struct Managers {
  json::array resource_managers;
};
BOOST_DESCRIBE_STRUCT(Managers, (), (resource_managers))

}  // namespace

void add_empty_routes(http::Router& router, Services&) {
  router.add<Any, Managers>(
      Verb::Get, "/api/v1/k8s-resource-managers",
      [](Context, Any) -> asio::awaitable<Result<Managers>> { co_return Managers{}; },
      Doc{.summary = "List the Kubernetes resource managers (always none)", .tag = "Cluster"});
}

}  // namespace det::master
