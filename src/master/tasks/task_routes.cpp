// A task of any type, a trial too: its allocations, its files; and what its program says.

#include <algorithm>

#include "det/base/text.h"
#include "det/cluster/usage.h"
#include "det/master/rights/rights.h"
#include "det/master/tasks/task_objects.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

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

}  // namespace

void add_task_routes(http::Router& router, Services& s) {
  const std::string tag = "Tasks";
  const std::vector<ErrorCode> missing = {ErrorCode::NotFound};
  const std::vector<ErrorCode> over = {ErrorCode::Gone, ErrorCode::PermissionDenied};
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
