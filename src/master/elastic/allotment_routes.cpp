// Machines that engines give: what pilots call, and what people see.

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
};
BOOST_DESCRIBE_STRUCT(AllotmentObject, (),
                      (id, resource_pool, provider, nodes, nodes_joined, state, engine_id, reason, requested, granted,
                       ends, agents))
struct AllotmentsReply {
  std::vector<AllotmentObject> allotments;
};
BOOST_DESCRIBE_STRUCT(AllotmentsReply, (), (allotments))

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
                         .ends = allotment.ends};
  for (const auto& [id, agent] : cluster.agents())
    if (agent.allotment == allotment.id && agent.connected) object.agents.push_back(id);
  object.nodes_joined = static_cast<std::int32_t>(object.agents.size());
  return object;
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
      Doc{.summary = "Exchange the token of an allotment for that of the agent of one of its nodes", .tag = tag});
  router.add<AllotmentsQuery, AllotmentsReply>(
      Verb::Get, "/api/v1/allotments",
      [&s](Context, AllotmentsQuery q) -> asio::awaitable<Result<AllotmentsReply>> {
        AllotmentsReply reply;
        for (const auto& [id, allotment] : s.ledger.cluster().allotments())
          if (q.resource_pool.empty() || allotment.pool == q.resource_pool)
            reply.allotments.push_back(object_of(s, allotment));
        co_return reply;
      },
      Doc{.summary = "List the machines that the providers of resource pools were asked for or gave", .tag = tag});
}

}  // namespace det::master
