// What administrators decide about the configurations of others: of the cluster, and of workspaces.

#include "det/config/experiment_config.h"
#include "det/config/yaml/yaml.h"
#include "det/master/policies/policy_book.h"
#include "det/master/rights/rights.h"
#include "det/master/workspaces/workspace_objects.h"

namespace det::master {
namespace {

using access::Permission;
using config::Workload;
using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct OfCluster {
  std::string workload_type;
};
BOOST_DESCRIBE_STRUCT(OfCluster, (), (workload_type))
struct OfWorkspace {
  WorkspaceId workspace_id;
  std::string workload_type;
};
BOOST_DESCRIBE_STRUCT(OfWorkspace, (), (workspace_id, workload_type))
struct PutOfCluster {
  std::string workload_type;
  json::value config_policies;  ///< YAML or JSON as text, or an object
  static bool required(std::string_view name) { return name == "config_policies"; }
};
BOOST_DESCRIBE_STRUCT(PutOfCluster, (), (workload_type, config_policies))
struct PutOfWorkspace {
  WorkspaceId workspace_id;
  std::string workload_type;
  json::value config_policies;
  static bool required(std::string_view name) { return name == "config_policies"; }
};
BOOST_DESCRIBE_STRUCT(PutOfWorkspace, (), (workspace_id, workload_type, config_policies))
struct ConfigPolicyReply {
  json::value config_policies;  ///< {}: there are none
  std::string yaml;             ///< ours: as it was written, with its comments
};
BOOST_DESCRIBE_STRUCT(ConfigPolicyReply, (), (config_policies, yaml))

/// Of whom and about what; the workspace 0 is the cluster.
struct Place {
  WorkspaceId workspace;
  Workload workload = Workload::Experiment;
  std::string words;  ///< "policy for tasks of workspace 'vision'"
};

Result<Place> place_of(Services& s, WorkspaceId id, const std::string& type) {
  const bool of_experiments = type == "EXPERIMENT";
  if (!of_experiments && type != "NTSC")
    return invalid_argument("workloadType is '{}'; it must be EXPERIMENT or NTSC (all other tasks)", type);
  const std::string what = of_experiments ? "policy for experiments" : "policy for tasks";
  Place place{id, of_experiments ? Workload::Experiment : Workload::Task, what + " of the cluster"};
  if (id == WorkspaceId(0)) return place;
  DET_TRY(const auto workspace, find_workspace(s, id));
  place.words = fmt::format("{} of workspace '{}'", what, workspace.name);
  return place;
}

/// Whether whoever calls may change it, and so see its secrets.
asio::awaitable<bool> may_change(Services& s, const std::any& principal, WorkspaceId workspace) {
  const bool of_cluster = workspace == WorkspaceId(0);
  const auto permission =
      of_cluster ? Permission::ModifyGlobalConfigPolicies : Permission::ModifyWorkspaceConfigPolicies;
  const auto allowed = co_await may(s, principal, permission, of_cluster ? Kind::Cluster : Kind::Workspace,
                                    json::value(workspace.value()));
  co_return allowed.has_value();
}

ConfigPolicyReply to_reply(const std::string& yaml, bool whole) {
  auto document = config::parse_yaml(yaml);
  if (!document || !document->value.is_object()) return {json::object{}, whole ? yaml : ""};
  ConfigPolicyReply reply{document->value, yaml};
  auto& members = reply.config_policies.get_object();
  const auto* fixed = members.if_contains("invariant_config");
  if (whole || fixed == nullptr || !fixed->is_object()) return reply;
  members["invariant_config"] = config::masked(fixed->get_object());
  if (reply.config_policies != document->value) reply.yaml = config::emit_yaml(reply.config_policies);
  return reply;
}

asio::awaitable<Result<ConfigPolicyReply>> get(Services& s, Context context, WorkspaceId workspace,
                                               std::string type) {
  const auto place = place_of(s, workspace, type);
  if (!place) co_return tl::unexpected(place.error());
  const bool whole = co_await may_change(s, context.principal, workspace);
  const auto* yaml = s.policies.find(place->workspace, place->workload);
  ConfigPolicyReply reply = yaml == nullptr ? ConfigPolicyReply{json::object{}, ""} : to_reply(*yaml, whole);
  co_await s.ledger.durable();
  co_return reply;
}

asio::awaitable<Result<ConfigPolicyReply>> put(Services& s, WorkspaceId workspace, std::string type,
                                               json::value given) {
  const auto place = place_of(s, workspace, type);
  if (!place) co_return tl::unexpected(place.error());
  const auto yaml = given.is_string() ? std::string(given.get_string()) : json::serialize(given);
  auto changes = s.policies.put({place->workspace, place->workload, yaml});
  if (!changes) co_return tl::unexpected(changes.error());
  co_await s.ledger.write(*std::move(changes));
  co_return to_reply(yaml, true);
}

asio::awaitable<Result<Empty>> remove(Services& s, WorkspaceId workspace, std::string type) {
  const auto place = place_of(s, workspace, type);
  if (!place) co_return tl::unexpected(place.error());
  auto changes = s.policies.remove(place->workspace, place->workload);
  if (changes.empty()) co_return not_found("{} not found", place->words);
  co_await s.ledger.write(std::move(changes));
  co_return Empty{};
}

}  // namespace

void add_config_policy_routes(http::Router& router, Services& s) {
  const std::string tag = "Configuration policies";
  const std::string of_cluster = "/api/v1/config-policies/global/{workloadType}",
                    of_workspace = "/api/v1/config-policies/workspaces/{workspaceId}/{workloadType}";
  const std::vector<ErrorCode> errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied};
  router.add<OfCluster, ConfigPolicyReply>(
      Verb::Get, of_cluster,
      [&s](Context c, OfCluster q) {
        return get(s, std::move(c), WorkspaceId(0), std::move(q.workload_type));
      },
      Doc{.summary = "Get the configuration policies of the cluster", .tag = tag});
  router.add<OfWorkspace, ConfigPolicyReply>(
      Verb::Get, of_workspace,
      [&s](Context c, OfWorkspace q) {
        return get(s, std::move(c), q.workspace_id, std::move(q.workload_type));
      },
      Doc{.summary = "Get the configuration policies of a workspace", .tag = tag, .errors = errors});
  router.add<PutOfCluster, ConfigPolicyReply>(
      Verb::Put, of_cluster,
      [&s](Context, PutOfCluster r) {
        return put(s, WorkspaceId(0), std::move(r.workload_type), std::move(r.config_policies));
      },
      Doc{.summary = "Replace the configuration policies of the cluster", .tag = tag, .errors = errors});
  router.add<PutOfWorkspace, ConfigPolicyReply>(
      Verb::Put, of_workspace,
      [&s](Context, PutOfWorkspace r) {
        return put(s, r.workspace_id, std::move(r.workload_type), std::move(r.config_policies));
      },
      Doc{.summary = "Replace the configuration policies of a workspace", .tag = tag, .errors = errors});
  router.add<OfCluster, Empty>(
      Verb::Delete, of_cluster,
      [&s](Context, OfCluster q) { return remove(s, WorkspaceId(0), std::move(q.workload_type)); },
      Doc{.summary = "Delete the configuration policies of the cluster", .tag = tag, .errors = errors});
  router.add<OfWorkspace, Empty>(
      Verb::Delete, of_workspace,
      [&s](Context, OfWorkspace q) { return remove(s, q.workspace_id, std::move(q.workload_type)); },
      Doc{.summary = "Delete the configuration policies of a workspace", .tag = tag, .errors = errors});
}

}  // namespace det::master
