// Machines that engines give: what pilots call, and what people see.

#include <algorithm>

#include "det/master/elastic/provisioner.h"
#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

struct AllotmentClaim {
  std::string allotment_id;
  std::int32_t node = 0;
  std::string secret, hostname;
};
BOOST_DESCRIBE_STRUCT(AllotmentClaim, (), (allotment_id, node, secret, hostname))
struct AllotmentClaimReply {
  std::string agent_id, token, resource_pool;
};
BOOST_DESCRIBE_STRUCT(AllotmentClaimReply, (), (agent_id, token, resource_pool))

struct AllotmentsQuery {
  std::string resource_pool;
};
BOOST_DESCRIBE_STRUCT(AllotmentsQuery, (), (resource_pool))
struct AllotmentObject {
  std::string id, resource_pool, provider;
  std::int32_t nodes = 0, nodes_joined = 0;
  std::string state;      ///< REQUESTED, PENDING, RUNNING, LEAVING or RELEASING
  std::string engine_id;  ///< the number of a Slurm job
  std::string reason;     ///< in the engine's words
  Time requested;
  std::optional<Time> granted, ends;
  std::vector<std::string> agents;
  std::string task_id;  ///< for which alone it is
  std::string log;      ///< where the output of its agents is: a file, or a command
};
BOOST_DESCRIBE_STRUCT(AllotmentObject, (),
                      (id, resource_pool, provider, nodes, nodes_joined, state, engine_id, reason, requested,
                       granted, ends, agents, task_id, log))
struct AllotmentsReply {
  std::vector<AllotmentObject> allotments;
};
BOOST_DESCRIBE_STRUCT(AllotmentsReply, (), (allotments))

struct ProviderQuery {
  std::string resource_pool_name;
};
BOOST_DESCRIBE_STRUCT(ProviderQuery, (), (resource_pool_name))
struct ProviderReply {
  std::string resource_pool, provider;
  std::int32_t min_nodes = 0, max_nodes = 0, slots_per_node = 0;
  std::int32_t nodes_requested = 0, nodes_running = 0, nodes_leaving = 0;
  std::string trouble;        ///< why the engine does not answer
  std::string why_not_more;   ///< while requests wait
  std::int32_t failures = 0;  ///< requests that failed since the last one that worked
  std::string last_failure;
  std::optional<Time> next_attempt;
  std::int64_t engine_calls = 0;  ///< since the start of the master
  std::vector<AllotmentObject> allotments;
  std::vector<PoolSample> history;
};
BOOST_DESCRIBE_STRUCT(ProviderReply, (),
                      (resource_pool, provider, min_nodes, max_nodes, slots_per_node, nodes_requested,
                       nodes_running, nodes_leaving, trouble, why_not_more, failures, last_failure,
                       next_attempt, engine_calls, allotments, history))

std::string state_of(const elastic::Allotment& allotment) {
  switch (allotment.state) {
    case elastic::State::Requested: return "REQUESTED";
    case elastic::State::Pending: return "PENDING";
    case elastic::State::Running: return allotment.leaving ? "LEAVING" : "RUNNING";
    case elastic::State::Releasing: return "RELEASING";
  }
  return "";
}

AllotmentObject object_of(Services& s, const elastic::Allotment& allotment) {
  const auto& cluster = s.ledger.cluster();
  AllotmentObject object{.id = allotment.id,
                         .resource_pool = allotment.pool,
                         .provider = cluster.pool(allotment.pool).provider,
                         .nodes = allotment.nodes,
                         .state = state_of(allotment),
                         .engine_id = allotment.engine_id,
                         .reason = allotment.why_released.empty() ? allotment.reason : allotment.why_released,
                         .requested = allotment.requested,
                         .granted = allotment.granted,
                         .ends = allotment.ends,
                         .task_id = allotment.task};
  for (const auto& [id, agent] : cluster.agents())
    if (agent.allotment == allotment.id && agent.connected) object.agents.push_back(id);
  if (s.provisioner != nullptr) object.log = s.provisioner->log_of(allotment.pool, allotment.id);
  object.nodes_joined = static_cast<std::int32_t>(object.agents.size());
  return object;
}

Result<ProviderReply> describe_provider(Services& s, const std::string& name) {
  const auto& cluster = s.ledger.cluster();
  if (!cluster.resource_pools().contains(name)) return not_found("resource pool '{}' not found", name);
  const auto& settings = cluster.pool(name);
  if (!settings.elastic)
    return not_found("resource pool '{}' has no provider; its agents are started by hand", name);
  ProviderReply reply{.resource_pool = name,
                      .provider = settings.provider,
                      .min_nodes = settings.elastic->min_nodes,
                      .max_nodes = settings.elastic->max_nodes,
                      .slots_per_node = settings.elastic->slots_per_node};
  for (const auto& [id, allotment] : cluster.allotments()) {
    if (allotment.pool != name) continue;
    auto object = object_of(s, allotment);
    reply.nodes_running += object.nodes_joined;
    reply.nodes_requested += std::max(0, object.nodes - object.nodes_joined);
    if (allotment.leaving || allotment.state == elastic::State::Releasing)
      reply.nodes_leaving += object.nodes_joined;
    reply.allotments.push_back(std::move(object));
  }
  const auto& failures = cluster.failures(name);
  reply.failures = failures.count;
  reply.last_failure = failures.why;
  if (failures.count > 0) reply.next_attempt = elastic::next_attempt(failures);
  reply.why_not_more = elastic::decide(cluster.elastic_pool(settings), s.ledger.now()).why_not_more;
  if (s.provisioner != nullptr) {
    reply.trouble = s.provisioner->trouble(name);
    const auto calls = s.provisioner->calls();
    if (const auto found = calls.find(name); found != calls.end()) reply.engine_calls = found->second;
    reply.history = s.provisioner->history(name);
  }
  return reply;
}

asio::awaitable<Result<AllotmentClaimReply>> claim(Services& s, Context context, AllotmentClaim request) {
  const auto pilot = require_pilot(context.principal);
  if (!pilot) co_return tl::unexpected(pilot.error());
  if (pilot->allotment != request.allotment_id)
    co_return fail(ErrorCode::PermissionDenied, "the token of allotment {} is not for allotment {}",
                   pilot->allotment, request.allotment_id);
  if (request.secret.size() < 16 || request.secret.size() > 200)
    co_return invalid_argument("secret has {} characters; it must have 16 to 200", request.secret.size());
  cluster::Event event = cluster::AllotmentClaimed{request.allotment_id, request.node, request.secret};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  const auto* allotment = s.ledger.cluster().allotment(request.allotment_id);
  if (allotment == nullptr) co_return fail(ErrorCode::Gone, "allotment {} is over", request.allotment_id);
  co_return AllotmentClaimReply{
      .agent_id = Auth::pilot_agent_id(allotment->pool, allotment->id, request.node),
      .token = s.auth.pilot_agent_token(allotment->id, request.node, request.secret),
      .resource_pool = allotment->pool};
}

}  // namespace

void add_allotment_routes(http::Router& router, Services& s) {
  const std::string tag = "Cluster";
  router.add<AllotmentClaim, AllotmentClaimReply>(
      Verb::Post, "/api/v1/allotments/{allotmentId}/claim",
      [&s](Context c, AllotmentClaim r) { return claim(s, std::move(c), std::move(r)); },
      Doc{.summary = "Exchange the token of an allotment for that of the agent of one of its nodes",
          .tag = tag,
          .errors = {ErrorCode::Gone}});
  router.add<ProviderQuery, ProviderReply>(
      Verb::Get, "/api/v1/resource-pools/{resourcePoolName}/provider",
      [&s](Context, ProviderQuery q) -> asio::awaitable<Result<ProviderReply>> {
        co_return describe_provider(s, q.resource_pool_name);
      },
      Doc{.summary = "Get the provider of a resource pool, its machines, and their number over time",
          .tag = tag,
          .errors = {ErrorCode::NotFound}});
  router.add<AllotmentsQuery, AllotmentsReply>(
      Verb::Get, "/api/v1/allotments",
      [&s](Context, AllotmentsQuery q) -> asio::awaitable<Result<AllotmentsReply>> {
        AllotmentsReply reply;
        for (const auto& [id, allotment] : s.ledger.cluster().allotments())
          if (q.resource_pool.empty() || allotment.pool == q.resource_pool)
            reply.allotments.push_back(object_of(s, allotment));
        co_return reply;
      },
      Doc{.summary = "List the machines that the providers of resource pools were asked for or gave",
          .tag = tag});
}

}  // namespace det::master
