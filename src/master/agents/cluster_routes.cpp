// The cluster itself: master, agents, slots, tasks, queue.

#include <algorithm>

#include "det/master/agents/cluster_objects.h"
#include "det/master/lists/list_order.h"
#include "det/master/objects.h"
#include "det/master/rights/role_book.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct MasterReply {
  std::string version, master_id, cluster_id, cluster_name, product = "PRODUCT_UNSPECIFIED";
  bool telemetry_enabled = false, rbac_enabled = false, strict_job_queue_control = false,
       has_custom_logo = false, user_management_enabled = true;
  std::vector<std::string> feature_switches;
  Nullable<Message> cluster_message;  ///< null: none now
};
BOOST_DESCRIBE_STRUCT(MasterReply, (),
                      (version, master_id, cluster_id, cluster_name, product, telemetry_enabled, rbac_enabled,
                       strict_job_queue_control, has_custom_logo, user_management_enabled, feature_switches,
                       cluster_message))
struct AgentsQuery {
  std::string sort_by, order_by;
  std::int32_t offset = 0, limit = 0;
  bool exclude_slots = false, exclude_containers = false;
};
BOOST_DESCRIBE_STRUCT(AgentsQuery, (), (sort_by, order_by, offset, limit, exclude_slots, exclude_containers))
struct AgentsReply {
  std::vector<api::Agent> agents;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(AgentsReply, (), (agents, pagination))
struct AgentReply {
  api::Agent agent;
};
BOOST_DESCRIBE_STRUCT(AgentReply, (), (agent))
struct SetAgent {
  std::string agent_id;
  bool drain = false;
};
BOOST_DESCRIBE_STRUCT(SetAgent, (), (agent_id, drain))
struct SetSlot {
  std::string agent_id;
  int slot_id = 0;
  bool drain = false;
};
BOOST_DESCRIBE_STRUCT(SetSlot, (), (agent_id, slot_id, drain))
struct SlotReply {
  api::Slot slot;
};
BOOST_DESCRIBE_STRUCT(SlotReply, (), (slot))

struct SlotsReply {
  std::vector<api::Slot> slots;
};
BOOST_DESCRIBE_STRUCT(SlotsReply, (), (slots))
struct SlotById {
  std::string agent_id, slot_id;
};
BOOST_DESCRIBE_STRUCT(SlotById, (), (agent_id, slot_id))

struct TelemetryReply {
  bool enabled = false;
};
BOOST_DESCRIBE_STRUCT(TelemetryReply, (), (enabled))

std::string device_type(const std::string& type) {
  return type == "cuda" ? "TYPE_CUDA" : type == "rocm" ? "TYPE_ROCM" : "TYPE_CPU";
}

api::Agent to_api(Services& s, const cluster::Agent& agent) {
  api::Agent a{.id = agent.id,
               .registered_time = agent.registered,
               .enabled = agent.enabled,
               .draining = agent.draining,
               .version = agent.version};
  a.addresses = {agent.hostname};
  a.resource_pools = {agent.resource_pool};
  a.label = agent.label;
  a.attributes = agent.attributes;
  a.silent = agent.connected && agent.silent;
  std::map<int, const cluster::Allocation*> used;
  for (const auto& [id, allocation] : s.ledger.cluster().allocations())
    for (const auto& share : allocation.record.shares)
      if (share.agent == agent.id && allocation.uses(agent.id))
        for (const auto slot : share.slots) used[slot] = &allocation;
  for (const auto& report : agent.slots) {
    const api::Device device{
        .id = report.id, .brand = report.brand, .uuid = report.uuid, .type = device_type(report.type)};
    api::Slot slot{.id = std::to_string(report.id),
                   .device = device,
                   .enabled = agent.enabled && !agent.disabled_slots.contains(report.id),
                   .draining = agent.draining};
    auto& stats = a.slot_stats.type_stats[device.type];
    auto& brand = a.slot_stats.brand_stats[device.brand];
    ++stats.total;
    ++brand.total;
    if (!slot.enabled) ++stats.disabled, ++brand.disabled;
    if (const auto found = used.find(report.id); found != used.end()) {
      const auto* allocation = found->second;
      const auto state = allocation->record.state >= experiment::AllocationState::Running ? "STATE_RUNNING"
                                                                                          : "STATE_STARTING";
      const api::SlotContainer container{.id = allocation->record.id,
                                         .parent = allocation->record.task_id,
                                         .state = state,
                                         .devices = {device}};
      slot.container = container;
      ++stats.states[state];
      a.containers[allocation->record.id] = container;
    }
    a.slots[fmt::format("/agents/{}/slots/{}", agent.id, report.id)] = std::move(slot);
  }
  return a;
}

Result<api::Agent> find_agent(Services& s, const std::string& id) {
  const auto found = s.ledger.cluster().agents().find(id);
  if (found == s.ledger.cluster().agents().end()) return not_found("agent '{}' not found", id);
  return to_api(s, found->second);
}

Result<SlotReply> find_slot(Services& s, const std::string& agent, const std::string& id) {
  DET_TRY(auto found, find_agent(s, agent));
  const auto slot = found.slots.find(fmt::format("/agents/{}/slots/{}", agent, id));
  if (slot == found.slots.end()) return not_found("slot {} of agent '{}' not found", id, agent);
  return SlotReply{std::move(slot->second)};
}

asio::awaitable<Result<Empty>> set(Services& s, Context context, cluster::AgentSet event) {
  if (const auto admin = require_admin(context.principal); !admin) co_return tl::unexpected(admin.error());
  cluster::Event change = std::move(event);
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(change), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

json::object info(Services& s) {
  return {{"version", s.version},
          {"master_id", s.master_id},
          {"cluster_id", s.cluster_id},
          {"cluster_name", s.cluster_name},
          {"telemetry", {{"enabled", false}, {"otel_enabled", false}, {"otel_endpoint", ""}}},
          {"sso_providers", nullptr}};
}

}  // namespace

void add_cluster_routes(http::Router& router, Services& s) {
  const std::string tag = "Cluster";
  router.add_raw(Verb::Get, "/info", [&s](http::Request) -> asio::awaitable<http::Response> {
    co_return http::json_response(json::serialize(info(s)));
  });
  router.add_raw(Verb::Get, "/health", [&s](http::Request) -> asio::awaitable<http::Response> {
    const json::object health{
        {"status", "up"},
        {"database", s.store.disk_full()    ? "full"
                     : s.store.overloaded() ? "behind"
                                            : "up"},
        {"resource_managers", json::array{json::object{{"cluster_name", s.cluster_name}, {"status", "up"}}}}};
    co_return http::json_response(json::serialize(health));
  });
  router.add<Empty, MasterReply>(
      Verb::Get, "/api/v1/master",
      [&s](Context, Empty) -> asio::awaitable<Result<MasterReply>> {
        MasterReply reply{.version = s.version,
                          .master_id = s.master_id,
                          .cluster_id = s.cluster_id,
                          .cluster_name = s.cluster_name,
                          .rbac_enabled = s.roles.enforced()};
        reply.cluster_message = co_await cluster_message_now(s);
        co_return reply;
      },
      Doc{.summary = "Get the name, the version and the features of the master", .tag = tag, .open = true});
  router.add<AgentsQuery, AgentsReply>(
      Verb::Get, "/api/v1/agents",
      [&s](Context, AgentsQuery q) -> asio::awaitable<Result<AgentsReply>> {
        if (const auto known = check_order(q.sort_by, q.order_by); !known)
          co_return tl::unexpected(known.error());
        std::vector<const cluster::Agent*> all;  // by id
        for (const auto& [id, agent] : s.ledger.cluster().agents())
          if (agent.connected) all.push_back(&agent);
        if (q.sort_by == "SORT_BY_TIME") std::ranges::stable_sort(all, {}, &cluster::Agent::registered);
        if (is_descending(q.order_by)) std::ranges::reverse(all);
        const auto span = page_of(all.size(), q.offset, q.limit);
        AgentsReply reply{.agents = {}, .pagination = span.pagination};
        for (auto i = span.begin; i < span.end; ++i) {
          reply.agents.push_back(to_api(s, *all[i]));
          if (q.exclude_slots) reply.agents.back().slots.clear();
          if (q.exclude_containers) reply.agents.back().containers.clear();
        }
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "List the connected agents", .tag = tag});
  router.add<SetAgent, AgentReply>(
      Verb::Get, "/api/v1/agents/{agentId}",
      [&s](Context, SetAgent q) -> asio::awaitable<Result<AgentReply>> {
        auto found = find_agent(s, q.agent_id);
        if (!found) co_return tl::unexpected(found.error());
        co_return AgentReply{*std::move(found)};
      },
      Doc{.summary = "Get an agent", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<SetAgent, SlotsReply>(
      Verb::Get, "/api/v1/agents/{agentId}/slots",
      [&s](Context, SetAgent q) -> asio::awaitable<Result<SlotsReply>> {
        auto found = find_agent(s, q.agent_id);
        if (!found) co_return tl::unexpected(found.error());
        SlotsReply reply;
        for (auto& [path, slot] : found->slots) reply.slots.push_back(std::move(slot));
        co_return reply;
      },
      Doc{.summary = "List the slots of an agent", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<SlotById, SlotReply>(
      Verb::Get, "/api/v1/agents/{agentId}/slots/{slotId}",
      [&s](Context, SlotById q) -> asio::awaitable<Result<SlotReply>> {
        co_return find_slot(s, q.agent_id, q.slot_id);
      },
      Doc{.summary = "Get a slot of an agent", .tag = tag, .errors = {ErrorCode::NotFound}});
  for (const bool enable : {true, false}) {
    const auto word = enable ? "enable" : "disable";
    router.add<SetAgent, Empty>(
        Verb::Post, fmt::format("/api/v1/agents/{{agentId}}/{}", word),
        [&s, enable](Context c, SetAgent r) {
          return set(s, std::move(c), {r.agent_id, std::nullopt, enable, r.drain});
        },
        Doc{.summary = fmt::format("{} an agent", word),
            .tag = tag,
            .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
    router.add<SetSlot, SlotReply>(
        Verb::Post, fmt::format("/api/v1/agents/{{agentId}}/slots/{{slotId}}/{}", word),
        [&s, enable](Context c, SetSlot r) -> asio::awaitable<Result<SlotReply>> {
          cluster::AgentSet event{r.agent_id, r.slot_id, enable, r.drain};
          const auto done = co_await set(s, std::move(c), std::move(event));
          if (!done) co_return tl::unexpected(done.error());
          co_return find_slot(s, r.agent_id, std::to_string(r.slot_id));
        },
        Doc{.summary = fmt::format("{} a slot", word),
            .tag = tag,
            .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
  }
  router.add<Empty, TelemetryReply>(
      Verb::Get, "/api/v1/master/telemetry",
      [](Context, Empty) -> asio::awaitable<Result<TelemetryReply>> { co_return TelemetryReply{}; },
      Doc{.summary = "Get the telemetry settings (telemetry is always off)", .tag = tag, .open = true});
}

}  // namespace det::master
