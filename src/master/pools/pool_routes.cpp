// Resource pools, as clients of the original expect them: with every field that it had, whatever of it there
// is.

#include <algorithm>

#include "det/master/agents/cluster_objects.h"
#include "det/master/objects.h"
#include "det/master/pools/pool_bindings.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct PrioritySettings {
  bool preemption = false;
  std::int32_t default_priority = 42;
};
BOOST_DESCRIBE_STRUCT(PrioritySettings, (), (preemption, default_priority))
struct PoolDetails {
  json::value aws, gcp;
  std::optional<PrioritySettings> priority_scheduler;
};
BOOST_DESCRIBE_STRUCT(PoolDetails, (), (aws, gcp, priority_scheduler))
struct QueueStats {
  std::int32_t queued_count = 0, scheduled_count = 0;
};
BOOST_DESCRIBE_STRUCT(QueueStats, (), (queued_count, scheduled_count))

struct Pool {
  std::string name, description, type = "RESOURCE_POOL_TYPE_STATIC";
  std::string provider;   ///< ours: who gives its machines, in words; empty: its agents are started by hand
  std::string scheduler;  ///< ours: the policy's own name
  std::string scheduler_type, scheduler_fitting_policy;
  bool preemption = false;             ///< ours
  std::int32_t default_priority = 42;  ///< ours
  double price_per_slot_hour = 0;      ///< ours
  std::string currency;                ///< ours
  std::int32_t num_agents = 0, slots_available = 0, slots_used = 0, slots_per_agent = 0;
  std::string slot_type = "TYPE_CPU", accelerator;
  std::int32_t aux_container_capacity = 0, aux_container_capacity_per_agent = 100, aux_containers_running = 0;
  bool default_compute_pool = false, default_aux_pool = false;
  QueueStats stats;
  PoolDetails details;
  std::map<std::string, std::string> resource_manager_metadata;
  std::string cluster_name;
  // Of machines in a cloud, which this platform does not rent, and of containers.
  bool preemptible = false;
  std::int32_t min_agents = 0, max_agents = 0;
  double max_idle_agent_period = 0, max_agent_starting_period = 0;
  std::string location, image_id, instance_type, master_url, master_cert_name, startup_script,
      container_startup_script, agent_docker_network, agent_docker_runtime, agent_docker_image,
      agent_fluent_image;
};
BOOST_DESCRIBE_STRUCT(Pool, (),
                      (name, description, type, provider, scheduler, scheduler_type, scheduler_fitting_policy,
                       preemption, default_priority, price_per_slot_hour, currency, num_agents,
                       slots_available, slots_used, slots_per_agent, slot_type, accelerator,
                       aux_container_capacity, aux_container_capacity_per_agent, aux_containers_running,
                       default_compute_pool, default_aux_pool, stats, details, resource_manager_metadata,
                       cluster_name, preemptible, min_agents, max_agents, max_idle_agent_period,
                       max_agent_starting_period, location, image_id, instance_type, master_url,
                       master_cert_name, startup_script, container_startup_script, agent_docker_network,
                       agent_docker_runtime, agent_docker_image, agent_fluent_image))
struct PoolsQuery {
  std::int32_t offset = 0, limit = 0;
  bool unbound = false;
};
BOOST_DESCRIBE_STRUCT(PoolsQuery, (), (offset, limit, unbound))
struct PoolsReply {
  std::vector<Pool> resource_pools;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(PoolsReply, (), (resource_pools, pagination))

Pool describe(Services& s, const std::string& name) {
  const auto& cluster = s.ledger.cluster();
  const auto& settings = cluster.pool(name);
  Pool pool{.name = name,
            .description = !settings.description.empty() ? settings.description
                           : settings.elastic            ? "machines of " + settings.provider
                                                         : "agents that joined as " + name,
            .provider = settings.provider,
            .scheduler = cluster::policy_name(settings.policy),
            .scheduler_type = scheduler_type(settings.policy),
            .scheduler_fitting_policy =
                settings.fitting == scheduler::Fitting::Best ? "FITTING_POLICY_BEST" : "FITTING_POLICY_WORST",
            .preemption = settings.preemption,
            .default_priority = settings.default_priority,
            .price_per_slot_hour = settings.price_per_slot_hour,
            .currency = cluster.pools().currency,
            .aux_container_capacity_per_agent = settings.zero_slot_max,
            .default_compute_pool = name == cluster.pools().default_compute,
            .default_aux_pool = name == cluster.pools().default_aux,
            .cluster_name = s.cluster_name};
  if (settings.elastic) {
    pool.min_agents = settings.elastic->min_nodes;
    pool.max_agents = settings.elastic->max_nodes;
    pool.max_idle_agent_period = static_cast<double>(settings.elastic->idle_timeout);
    pool.max_agent_starting_period = static_cast<double>(settings.elastic->start_timeout);
    pool.slots_per_agent = settings.elastic->slots_per_node;
  }
  if (settings.policy == scheduler::Policy::Priority)
    pool.details.priority_scheduler = PrioritySettings{settings.preemption, settings.default_priority};
  for (const auto& [id, agent] : cluster.agents()) {
    if (!agent.connected || agent.resource_pool != name) continue;
    ++pool.num_agents;
    const auto slots = static_cast<std::int32_t>(agent.slots.size());
    pool.slots_available += slots;
    pool.slots_per_agent = std::max(pool.slots_per_agent, slots);
    pool.aux_container_capacity += settings.zero_slot_max;
    for (const auto& slot : agent.slots) {
      if (slot.type != "cuda" && slot.type != "rocm") continue;
      pool.slot_type = slot.type == "cuda" ? "TYPE_CUDA" : "TYPE_ROCM";
      pool.accelerator = slot.brand;
    }
  }
  for (const auto& [id, allocation] : cluster.allocations()) {
    if (cluster.pool_of(cluster::Cluster::job_of(allocation)) != name) continue;
    if (allocation.idle()) continue;
    const bool placed = !allocation.record.shares.empty();
    ++(placed ? pool.stats.scheduled_count : pool.stats.queued_count);
    if (placed && allocation.slots == 0) ++pool.aux_containers_running;
    for (const auto& share : allocation.record.shares)
      if (!allocation.agents_ended.contains(share.agent))
        pool.slots_used += static_cast<std::int32_t>(share.slots.size());
  }
  return pool;
}

}  // namespace

std::string scheduler_type(scheduler::Policy policy) {
  switch (policy) {
    case scheduler::Policy::RoundRobin: return "SCHEDULER_TYPE_ROUND_ROBIN";
    case scheduler::Policy::FairShare: return "SCHEDULER_TYPE_FAIR_SHARE";
    case scheduler::Policy::Fifo:
    case scheduler::Policy::Priority: return "SCHEDULER_TYPE_PRIORITY";
  }
  return "SCHEDULER_TYPE_UNSPECIFIED";
}

void add_pool_routes(http::Router& router, Services& s) {
  router.add<PoolsQuery, PoolsReply>(
      Verb::Get, "/api/v1/resource-pools",
      [&s](Context, PoolsQuery q) -> asio::awaitable<Result<PoolsReply>> {
        std::vector<std::string> names;
        for (const auto& name : s.ledger.cluster().resource_pools())
          if (!q.unbound || s.bindings.of(name).empty()) names.push_back(name);
        const auto span = page_of(names.size(), q.offset, q.limit);
        PoolsReply reply{.resource_pools = {}, .pagination = span.pagination};
        for (auto i = span.begin; i < span.end; ++i) reply.resource_pools.push_back(describe(s, names[i]));
        co_return reply;
      },
      Doc{.summary = "List resource pools", .tag = "Cluster"});
}

}  // namespace det::master
