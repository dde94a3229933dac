// Lists of tasks of all types, trials too.

#include "det/master/agents/cluster_objects.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"
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

void add_task_list_routes(http::Router& router, Services& s) {
  const std::string tag = "Tasks";
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
}

}  // namespace det::master
