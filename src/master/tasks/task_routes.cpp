// Tasks of all types, trials too: what runs, their files; and what the programs of tasks say.

#include <algorithm>

#include "det/base/text.h"
#include "det/cluster/usage.h"
#include "det/master/agents/cluster_objects.h"
#include "det/master/rights/rights.h"
#include "det/master/tasks/proxy_ports.h"
#include "det/master/tasks/task_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct PortShown {
  std::int32_t port = 0;
};
BOOST_DESCRIBE_STRUCT(PortShown, (), (port))
struct UsedSlot {
  std::int32_t id = 0;
};
BOOST_DESCRIBE_STRUCT(UsedSlot, (), (id))
struct UsedSlots {
  std::vector<UsedSlot> devices;
};
BOOST_DESCRIBE_STRUCT(UsedSlots, (), (devices))
/// What an allocation has on one machine.
struct TaskResources {
  std::string container_id, allocation_id, resources_id;
  std::map<std::string, UsedSlots> agent_devices;  ///< by the id of the agent
};
BOOST_DESCRIBE_STRUCT(TaskResources, (), (container_id, allocation_id, resources_id, agent_devices))
struct TaskSummary {
  std::string task_id, allocation_id, name;
  Time registered_time;
  std::string resource_pool, scheduler_type;
  std::int32_t slots_needed = 0;
  std::vector<TaskResources> resources;
  std::int32_t priority = 42;
  std::vector<PortShown> proxy_ports;
  std::string state;           ///< ours
  std::string waiting_reason;  ///< ours
  std::string type;            ///< ours: "trial", "command", …
};
BOOST_DESCRIBE_STRUCT(TaskSummary, (),
                      (task_id, allocation_id, name, registered_time, resource_pool, scheduler_type,
                       slots_needed, resources, priority, proxy_ports, state, waiting_reason, type))
struct TasksReply {
  std::map<std::string, TaskSummary> allocation_id_to_summary;
};
BOOST_DESCRIBE_STRUCT(TasksReply, (), (allocation_id_to_summary))
struct CountReply {
  std::int32_t commands = 0, notebooks = 0, shells = 0, tensorboards = 0;
};
BOOST_DESCRIBE_STRUCT(CountReply, (), (commands, notebooks, shells, tensorboards))

struct ById {
  std::string task_id;
};
BOOST_DESCRIBE_STRUCT(ById, (), (task_id))
struct TaskKillRequest {
  std::string task_id;
  std::optional<bool> kill_from_root;  ///< of a generic task: also its ancestors and all of their descendants
};
BOOST_DESCRIBE_STRUCT(TaskKillRequest, (), (task_id, kill_from_root))
struct Allocation {
  std::string task_id, state, allocation_id;
  std::optional<Time> requested_time, start_time, end_time;
  std::vector<std::string> agents;
  bool is_ready = false;
  std::int32_t slots = 0;
  std::string exit_reason;
  std::optional<std::int32_t> status_code;
};
BOOST_DESCRIBE_STRUCT(Allocation, (),
                      (task_id, state, allocation_id, requested_time, start_time, end_time, agents, is_ready,
                       slots, exit_reason, status_code))
struct TaskDetails {
  std::string task_id, task_type;
  std::vector<Allocation> allocations;  ///< its runs, the newest last
  Time start_time;
  std::optional<Time> end_time;
  // Of a generic task:
  std::optional<std::string> config;  ///< JSON
  std::optional<std::string> parent_id, forked_from;
  std::optional<bool> no_pause;
  std::optional<std::string> task_state;
};
BOOST_DESCRIBE_STRUCT(TaskDetails, (),
                      (task_id, task_type, allocations, start_time, end_time, config, parent_id, forked_from,
                       no_pause, task_state))
struct OneTaskReply {
  TaskDetails task;
};
BOOST_DESCRIBE_STRUCT(OneTaskReply, (), (task))
struct ContextReply {
  std::string b64_tgz;
};
BOOST_DESCRIBE_STRUCT(ContextReply, (), (b64_tgz))
struct TaskConfigReply {
  std::string config;  ///< JSON
};
BOOST_DESCRIBE_STRUCT(TaskConfigReply, (), (config))

struct ByAllocation {
  std::string allocation_id;
};
BOOST_DESCRIBE_STRUCT(ByAllocation, (), (allocation_id))
struct AllocationReply {
  Allocation allocation;
};
BOOST_DESCRIBE_STRUCT(AllocationReply, (), (allocation))
/// The devices of a run on one machine.
struct Accelerators {
  std::string container_id, allocation_id, node_name, task_id;
  std::string accelerator_type;  ///< "cpu", or the GPU's name; empty: its agent is not connected
  std::vector<std::string> accelerator_uuids;
};
BOOST_DESCRIBE_STRUCT(Accelerators, (),
                      (container_id, allocation_id, node_name, task_id, accelerator_type, accelerator_uuids))
struct AcceleratorsReply {
  std::vector<Accelerators> accelerator_data;
};
BOOST_DESCRIBE_STRUCT(AcceleratorsReply, (), (accelerator_data))

struct ReadyRequest {
  std::string task_id;
  std::int32_t port = 0;
  std::string secret;         ///< what the program wants to hear as `Authorization: Bearer …`; empty: nothing
  std::int32_t ssh_port = 0;  ///< ours: of a shell's SSH server
  std::string user;           ///< ours: whom that server lets in
  static bool required(std::string_view name) { return name == "port"; }
};
BOOST_DESCRIBE_STRUCT(ReadyRequest, (), (task_id, port, secret, ssh_port, user))
struct IdleRequest {
  std::string task_id;
  bool idle = false;
  std::optional<Time> since;  ///< since when; absent: since now
  static bool required(std::string_view name) { return name == "idle"; }
};
BOOST_DESCRIBE_STRUCT(IdleRequest, (), (task_id, idle, since))

TaskSummary summary_of(Services& s, const cluster::Allocation& allocation) {
  const auto& cluster = s.ledger.cluster();
  const auto job = cluster::Cluster::job_of(allocation);
  const auto* task = cluster.task(allocation.record.task_id);
  const auto pool = cluster.pool_of(job);
  TaskSummary summary{.task_id = allocation.record.task_id,
                      .allocation_id = allocation.record.id,
                      .name = task != nullptr
                                  ? task->record().description
                                  : fmt::format("Trial {} (Experiment {})", allocation.record.trial_id,
                                                allocation.record.experiment_id),
                      .registered_time = allocation.record.requested,
                      .resource_pool = pool,
                      .scheduler_type = scheduler_type(cluster.pool(pool).policy),
                      .slots_needed = allocation.slots,
                      .priority = cluster.priority_of(job),
                      .state = json::bd::enum_to_string(allocation.record.state, "?"),
                      .waiting_reason = cluster.waiting_reason(allocation.record.id),
                      .type = task == nullptr ? "trial" : task::type_name(task->record().type)};
  for (const auto& share : allocation.record.shares) {
    UsedSlots used;
    for (const auto slot : share.slots) used.devices.push_back({slot});
    summary.resources.push_back(
        {.container_id = allocation.record.id,
         .allocation_id = allocation.record.id,
         .resources_id = fmt::format("{}.{}", allocation.record.id, summary.resources.size()),
         .agent_devices = {{share.agent, std::move(used)}}});
  }
  if (task != nullptr)
    if (const auto& address = task->record().address) summary.proxy_ports.push_back({address->port});
  const auto* experiment = cluster.experiment(allocation.record.experiment_id);
  if (task != nullptr || experiment != nullptr)
    for (const auto& open :
         proxy_ports_of(task != nullptr ? task->record().config : experiment->record().config))
      summary.proxy_ports.push_back({open.port});
  return summary;
}

CountReply count(const cluster::Cluster& cluster) {
  CountReply reply;
  for (const auto& [id, task] : cluster.tasks()) {
    if (task.record().state != task::State::Running) continue;
    switch (task.record().type) {
      case task::Type::Command: ++reply.commands; break;
      case task::Type::Notebook: ++reply.notebooks; break;
      case task::Type::Shell: ++reply.shells; break;
      case task::Type::Tensorboard: ++reply.tensorboards; break;
      case task::Type::Generic: break;
    }
  }
  return reply;
}

/// A task of any type: one of these two.
struct Found {
  std::optional<store::TrialRecord> trial;
  std::optional<task::TaskRecord> task;
};
asio::awaitable<Result<Found>> find(Services& s, std::string id) {
  co_await s.ledger.durable();
  auto read = [&s, id] { return Found{s.store.trial_of_task(id), s.store.task(id)}; };
  auto found = co_await offload(s, std::move(read));
  if (!found.trial && !found.task) co_return not_found("task '{}' not found", id);
  co_return found;
}

void describe(const task::TaskRecord& record, TaskDetails& shown) {
  shown.config = json::serialize(config::masked(record.config));
  if (!record.ancestors.empty()) shown.parent_id = record.ancestors.back();
  if (!record.forked_from.empty()) shown.forked_from = record.forked_from;
  shown.no_pause = record.no_pause;
  shown.task_state = generic_state(record);
}

asio::awaitable<Result<OneTaskReply>> get(Services& s, ById query) {
  const auto found = co_await find(s, query.task_id);
  if (!found) co_return tl::unexpected(found.error());
  auto read = [&s, id = query.task_id] { return s.store.allocations(id); };
  const auto allocations = co_await offload(s, std::move(read));
  OneTaskReply reply{.task = {.task_id = query.task_id, .task_type = "TASK_TYPE_TRIAL"}};
  if (found->trial) {
    reply.task.start_time = found->trial->start_time;
    reply.task.end_time = found->trial->end_time;
  } else {
    static constexpr const char* kTypes[] = {"TASK_TYPE_COMMAND", "TASK_TYPE_SHELL", "TASK_TYPE_NOTEBOOK",
                                             "TASK_TYPE_TENSORBOARD", "TASK_TYPE_GENERIC"};
    reply.task.task_type = kTypes[static_cast<int>(found->task->type)];
    reply.task.start_time = found->task->start_time;
    reply.task.end_time = found->task->end_time;
    if (found->task->type == task::Type::Generic) describe(*found->task, reply.task);
  }
  for (const auto& record : allocations) {
    Allocation shown{.task_id = query.task_id,
                     .state = state_name(record.state),
                     .allocation_id = record.id,
                     .requested_time = record.requested,
                     .start_time = record.start_time,
                     .end_time = record.end_time,
                     .slots = static_cast<std::int32_t>(cluster::slots_of(record)),
                     .exit_reason = record.exit_reason};
    for (const auto& share : record.shares) shown.agents.push_back(share.agent);
    if (found->task && record.run_id == found->task->run_id) {
      const auto& task = *found->task;
      // What has no program of ours is ready as soon as it runs.
      shown.is_ready = task.program_is_ours ? task.address.has_value() : task.state == task::State::Running;
      if (!task.exit_status.empty()) shown.exit_reason = task.exit_status;
      shown.status_code = task.exit_code;
    }
    reply.task.allocations.push_back(std::move(shown));
  }
  co_return reply;
}

asio::awaitable<Result<AllocationReply>> get_allocation(Services& s, ByAllocation query) {
  ById task{task_of(query.allocation_id)};
  const auto answer = co_await get(s, std::move(task));
  if (answer)
    for (const auto& one : answer->task.allocations)
      if (one.allocation_id == query.allocation_id) co_return AllocationReply{one};
  co_return not_found("allocation '{}' not found", query.allocation_id);
}

asio::awaitable<Result<AcceleratorsReply>> accelerators(Services& s, ById query) {
  const auto found = co_await find(s, query.task_id);
  if (!found) co_return tl::unexpected(found.error());
  auto read = [&s, id = query.task_id] { return s.store.allocations(id); };
  const auto allocations = co_await offload(s, std::move(read));
  AcceleratorsReply reply;
  for (const auto& record : allocations)
    for (const auto& share : record.shares) {
      Accelerators one{.container_id = record.id,
                       .allocation_id = record.id,
                       .node_name = share.agent,
                       .task_id = query.task_id,
                       .accelerator_type = "",
                       .accelerator_uuids = {}};
      const auto& agents = s.ledger.cluster().agents();
      if (const auto agent = agents.find(share.agent); agent != agents.end())
        for (const auto& slot : agent->second.slots) {
          if (std::ranges::find(share.slots, slot.id) == share.slots.end()) continue;
          one.accelerator_type = slot.type == "cpu" ? slot.type : slot.brand;
          one.accelerator_uuids.push_back(slot.uuid);
        }
      reply.accelerator_data.push_back(std::move(one));
    }
  co_return reply;
}

asio::awaitable<Result<ContextReply>> context_directory(Services& s, ById query) {
  const auto found = co_await find(s, query.task_id);
  if (!found) co_return tl::unexpected(found.error());
  auto read = [&s, found = *found]() -> std::optional<std::string> {
    if (found.task)
      return found.task->context.empty() ? std::nullopt : s.store.model_definition(found.task->context);
    const auto experiment = s.store.experiment(found.trial->experiment_id);
    return experiment ? s.store.model_definition(experiment->model_definition) : std::nullopt;
  };
  const auto archive = co_await offload(s, std::move(read));
  co_return ContextReply{archive ? base64_encode(*archive) : ""};
}

asio::awaitable<Result<TaskConfigReply>> config_of(Services& s, ById query) {
  const auto found = co_await find(s, query.task_id);
  if (!found) co_return tl::unexpected(found.error());
  if (found->task) co_return TaskConfigReply{json::serialize(config::masked(found->task->config))};
  auto read = [&s, id = found->trial->experiment_id] { return s.store.experiment(id); };
  const auto experiment = co_await offload(s, std::move(read));
  co_return TaskConfigReply{experiment ? json::serialize(config::masked(experiment->config)) : "{}"};
}

asio::awaitable<Result<Empty>> kill(Services& s, Context context, TaskKillRequest request) {
  auto found = co_await find(s, request.task_id);
  if (!found) co_return tl::unexpected(found.error());
  if (found->task) {
    const auto done = co_await kill_task(s, context.principal, *std::move(found->task),
                                         request.kill_from_root.value_or(false));
    if (!done) co_return tl::unexpected(done.error());
    co_return Empty{};
  }
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  cluster::Event event = cluster::TrialKilled{found->trial->id};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

/// The live allocation that speaks, checked to be of the task that it speaks for.
Result<const cluster::Allocation*> speaker(Services& s, const std::any& principal, const std::string& task) {
  DET_TRY(const auto id, require_task(principal));
  const auto* allocation = s.ledger.cluster().allocation(id);
  if (allocation == nullptr) return fail(ErrorCode::Gone, "allocation {} is over", id);
  if (allocation->record.task_id != task)
    return fail(ErrorCode::PermissionDenied, "allocation {} cannot report for task {}", id, task);
  return allocation;
}

asio::awaitable<Result<Empty>> ready(Services& s, Context context, ReadyRequest request) {
  const auto allocation = speaker(s, context.principal, request.task_id);
  if (!allocation) co_return tl::unexpected(allocation.error());
  const auto& shares = (*allocation)->record.shares;
  const auto host = service_host(s, shares.empty() ? "" : shares.front().agent, context.request->remote);
  const task::Address address{.host = host,
                              .port = request.port,
                              .secret = request.secret,
                              .ssh_port = request.ssh_port,
                              .user = request.user};
  cluster::Event event = cluster::TaskReady{(*allocation)->record.id, address};
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  if (s.ledger.cluster().task(request.task_id) != nullptr)
    s.proxies.set(request.task_id, address.host, static_cast<std::uint16_t>(address.port), address.secret,
                  address.ssh_port);
  co_return Empty{};
}

asio::awaitable<Result<Empty>> idle(Services& s, Context context, IdleRequest request) {
  const auto allocation = speaker(s, context.principal, request.task_id);
  if (!allocation) co_return tl::unexpected(allocation.error());
  cluster::TaskIdled idled{.allocation_id = (*allocation)->record.id, .since = std::nullopt};
  if (request.idle) idled.since = request.since.value_or(s.ledger.now());
  // Programs say it again and again; what is known is not remembered again.
  const auto* task = s.ledger.cluster().task(request.task_id);
  if (task != nullptr && idled.since.has_value() == task->idle_since().has_value() &&
      (!idled.since || !request.since || idled.since == task->idle_since()))
    co_return Empty{};
  cluster::Event event = std::move(idled);
  auto by = principal_name(context.principal);
  const auto done = co_await s.ledger.handle(std::move(event), std::move(by));
  if (!done) co_return tl::unexpected(done.error());
  co_return Empty{};
}

/// One that is paused has no allocation: it is listed under its last one.
TaskSummary summary_of_paused(Services& s, const task::TaskRecord& record) {
  const auto& cluster = s.ledger.cluster();
  return {.task_id = record.id,
          .allocation_id = fmt::format("{}.{}", record.id, record.run_id),
          .name = record.description,
          .registered_time = record.start_time,
          .resource_pool = record.resource_pool,
          .scheduler_type = scheduler_type(cluster.pool(record.resource_pool).policy),
          .slots_needed = record.slots,
          .priority = cluster.priority_of(cluster::Job(record.id)),
          .state = "Paused",
          .waiting_reason = "it is paused",
          .type = task::type_name(record.type)};
}

TasksReply tasks_seen_by(Services& s, const std::any& principal) {
  TasksReply reply;
  const Sight trials(s, principal, access::Permission::ViewExperimentMetadata);
  const Sight tasks(s, principal, access::Permission::ViewNsc);
  const auto& cluster = s.ledger.cluster();
  const auto seen = [&](const cluster::Allocation& allocation) {
    if (const auto* task = cluster.task(allocation.record.task_id))
      return tasks.workspace(task->record().workspace_id);
    const auto* of = cluster.experiment(allocation.record.experiment_id);
    return trials.project(of == nullptr ? 1 : of->record().project_id);
  };
  for (const auto& [id, allocation] : cluster.allocations())
    if (seen(allocation)) reply.allocation_id_to_summary.emplace(id, summary_of(s, allocation));
  for (const auto& [id, task] : cluster.tasks()) {
    if (task.record().state != task::State::Paused || !tasks.workspace(task.record().workspace_id)) continue;
    auto shown = summary_of_paused(s, task.record());
    reply.allocation_id_to_summary.emplace(shown.allocation_id, std::move(shown));
  }
  return reply;
}

/// What /tasks answers, from before there was /api/v1.
json::object as_older_clients_read(const TaskSummary& task) {
  return {{"task_id", task.task_id},
          {"allocation_id", task.allocation_id},
          {"name", task.name},
          {"registered_time", to_rfc3339(task.registered_time)},
          {"resource_pool", task.resource_pool},
          {"slots_needed", task.slots_needed},
          {"scheduler_type", task.scheduler_type},
          {"priority", task.priority}};
}

}  // namespace

void add_task_routes(http::Router& router, Services& s) {
  const std::string tag = "Tasks";
  const std::vector<ErrorCode> missing = {ErrorCode::NotFound};
  const std::vector<ErrorCode> over = {ErrorCode::Gone, ErrorCode::PermissionDenied};
  router.add<Empty, TasksReply>(
      Verb::Get, "/api/v1/tasks",
      [&s](Context c, Empty) -> asio::awaitable<Result<TasksReply>> {
        auto reply = tasks_seen_by(s, c.principal);
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "List the tasks that run, wait to run, or are paused", .tag = tag});
  router.add_closed_raw(Verb::Get, "/tasks",
                        [&s](http::Request, std::any principal) -> asio::awaitable<http::Response> {
                          const auto tasks = tasks_seen_by(s, principal).allocation_id_to_summary;
                          json::object reply;
                          for (const auto& [id, task] : tasks) reply[id] = as_older_clients_read(task);
                          co_await s.ledger.durable();
                          co_return http::json_response(json::serialize(reply));
                        });
  router.add<Empty, CountReply>(
      Verb::Get, "/api/v1/tasks/count",
      [&s](Context, Empty) -> asio::awaitable<Result<CountReply>> {
        const auto reply = count(s.ledger.cluster());
        co_await s.ledger.durable();
        co_return reply;
      },
      Doc{.summary = "Count the running commands, notebooks, shells and TensorBoards", .tag = tag});
  router.add<ById, OneTaskReply>(
      Verb::Get, "/api/v1/tasks/{taskId}", [&s](Context, ById q) { return get(s, std::move(q)); },
      Doc{.summary = "Get a task of any type with its allocations", .tag = tag, .errors = missing});
  router.add<ById, AcceleratorsReply>(
      Verb::Get, "/api/v1/tasks/{taskId}/acceleratorData",
      [&s](Context, ById q) { return accelerators(s, std::move(q)); },
      Doc{.summary = "List the devices of the allocations of a task", .tag = tag, .errors = missing});
  router.add<ByAllocation, AllocationReply>(
      Verb::Get, "/api/v1/allocations/{allocationId}",
      [&s](Context, ByAllocation q) { return get_allocation(s, std::move(q)); },
      Doc{.summary = "Get an allocation", .tag = tag, .errors = missing});
  router.add<ById, ContextReply>(
      Verb::Get, "/api/v1/tasks/{taskId}/context_directory",
      [&s](Context, ById q) { return context_directory(s, std::move(q)); },
      Doc{.summary = "Get the files of a task as a tar.gz archive in base64", .tag = tag, .errors = missing});
  router.add<ById, TaskConfigReply>(
      Verb::Get, "/api/v1/tasks/{taskId}/config",
      [&s](Context, ById q) { return config_of(s, std::move(q)); },
      Doc{.summary = "Get the configuration of a task", .tag = tag, .errors = missing});
  router.add<TaskKillRequest, Empty>(
      Verb::Post, "/api/v1/tasks/{taskId}/kill",
      [&s](Context c, TaskKillRequest r) { return kill(s, std::move(c), std::move(r)); },
      Doc{.summary = "Kill a task of any type, and the descendants of a generic task",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::PermissionDenied}});
  router.add<ReadyRequest, Empty>(
      Verb::Post, "/api/v1/tasks/{taskId}/ready",
      [&s](Context c, ReadyRequest r) { return ready(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report the port on which the service of a task listens", .tag = tag, .errors = over});
  router.add<IdleRequest, Empty>(
      Verb::Post, "/api/v1/tasks/{taskId}/idle",
      [&s](Context c, IdleRequest r) { return idle(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report whether the service of a task is idle; see idle_timeout",
          .tag = tag,
          .errors = over});
  router.add<IdleRequest, Empty>(
      Verb::Put, "/api/v1/notebooks/{taskId}/report_idle",
      [&s](Context c, IdleRequest r) { return idle(s, std::move(c), std::move(r)); },
      Doc{.summary = "Report whether a notebook is idle (for older clients)", .tag = tag, .errors = over});
}

}  // namespace det::master
