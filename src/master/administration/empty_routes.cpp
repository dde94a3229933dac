// What the original has for Kubernetes. Its lists are empty here, so that existing clients go on, and what
// would bind a workspace to a namespace is refused with the reason.

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
struct KubernetesWorkspace {
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(KubernetesWorkspace, (), (id))
struct QuotaRequest {
  std::int64_t id = 0;
  std::map<std::string, std::int64_t> cluster_quota_pairs;
};
BOOST_DESCRIBE_STRUCT(QuotaRequest, (), (id, cluster_quota_pairs))
struct BindRequest {
  std::int64_t workspace_id = 0;
  json::object cluster_namespace_meta;
};
BOOST_DESCRIBE_STRUCT(BindRequest, (), (workspace_id, cluster_namespace_meta))
struct UnbindRequest {
  std::int64_t workspace_id = 0;
  std::vector<std::string> cluster_names;
};
BOOST_DESCRIBE_STRUCT(UnbindRequest, (), (workspace_id, cluster_names))
struct BindAllRequest {
  std::vector<std::int64_t> workspace_ids;
};
BOOST_DESCRIBE_STRUCT(BindAllRequest, (), (workspace_ids))
struct NamespaceBindings {
  json::object namespace_bindings;
};
BOOST_DESCRIBE_STRUCT(NamespaceBindings, (), (namespace_bindings))
struct ResourceQuotas {
  json::object resource_quotas;
};
BOOST_DESCRIBE_STRUCT(ResourceQuotas, (), (resource_quotas))
struct DefaultBindings {
  std::vector<std::int64_t> workspace_ids;
};
BOOST_DESCRIBE_STRUCT(DefaultBindings, (), (workspace_ids))

/// Answers with an empty list.
template <class Request, class Reply>
asio::awaitable<Result<Reply>> none(Context, Request) {
  co_return Reply{};
}

template <class Request, class Reply = http::Empty>
asio::awaitable<Result<Reply>> refused(Context, Request) {
  co_return failed_precondition(
      "this cluster has no Kubernetes resource manager, so a workspace has no namespace and no quota there; "
      "bind resource pools to a workspace to say what it may use");
}

}  // namespace

void add_empty_routes(http::Router& router, Services&) {
  router.add<Any, Managers>(
      Verb::Get, "/api/v1/k8s-resource-managers",
      [](Context, Any) -> asio::awaitable<Result<Managers>> { co_return Managers{}; },
      Doc{.summary = "List the Kubernetes resource managers (always none)", .tag = "Cluster"});
  const std::string tag = "Workspaces";
  const std::vector<ErrorCode> errors = {ErrorCode::FailedPrecondition};
  router.add<KubernetesWorkspace, NamespaceBindings>(
      Verb::Get, "/api/v1/workspaces/{id}/list-namespace-bindings",
      none<KubernetesWorkspace, NamespaceBindings>,
      Doc{.summary = "List the Kubernetes namespaces of a workspace (always none)", .tag = tag});
  router.add<KubernetesWorkspace, ResourceQuotas>(
      Verb::Get, "/api/v1/workspaces/{id}/get-k8s-resource-quotas", none<KubernetesWorkspace, ResourceQuotas>,
      Doc{.summary = "List the Kubernetes quotas of a workspace (always none)", .tag = tag});
  router.add<Any, DefaultBindings>(
      Verb::Get, "/api/v1/namespace-bindings/workspace-ids-with-default-bindings", none<Any, DefaultBindings>,
      Doc{.summary = "List the workspaces that are bound to a Kubernetes namespace by default (always none)",
          .tag = tag});
  router.add<QuotaRequest, http::Empty>(
      Verb::Post, "/api/v1/workspaces/{id}/set-resource-quota", refused<QuotaRequest>,
      Doc{.summary = "Set a Kubernetes quota of a workspace (always refused)", .tag = tag, .errors = errors});
  router.add<BindRequest, NamespaceBindings>(
      Verb::Post, "/api/v1/workspaces/{workspaceId}/namespace-bindings",
      refused<BindRequest, NamespaceBindings>,
      Doc{.summary = "Bind a workspace to Kubernetes namespaces (always refused)",
          .tag = tag,
          .errors = errors});
  router.add<UnbindRequest, http::Empty>(
      Verb::Delete, "/api/v1/workspaces/{workspaceId}/namespace-bindings", refused<UnbindRequest>,
      Doc{.summary = "Remove the Kubernetes namespaces of a workspace (always refused)",
          .tag = tag,
          .errors = errors});
  router.add<BindAllRequest, http::Empty>(
      Verb::Post, "/api/v1/namespace-bindings/bulk-auto-create", refused<BindAllRequest>,
      Doc{.summary = "Bind workspaces to new Kubernetes namespaces (always refused)",
          .tag = tag,
          .errors = errors});
}

}  // namespace det::master
