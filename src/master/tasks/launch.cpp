#include "det/master/tasks/launch.h"

#include "det/checkpoint/storage.h"
#include "det/master/experiments/names.h"
#include "det/master/policies/policy_book.h"
#include "det/master/pools/pool_bindings.h"

namespace det::master {
namespace {

constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

/// Where it runs: the pool that it names, its workspace's usual one, or the cluster's.
std::string launch_pool(Services& s, const WorkspaceRecord& workspace, const config::TaskConfig& config) {
  const auto& pools = s.ledger.cluster().pools();
  if (!config.resource_pool.empty()) return config.resource_pool;
  const auto& usual = config.slots > 0 ? workspace.default_compute_pool : workspace.default_aux_pool;
  if (s.ledger.cluster().resource_pools().contains(usual)) return usual;
  return config.slots > 0 ? pools.default_compute : pools.default_aux;
}

}  // namespace

asio::awaitable<Result<config::Layers>> layers_of(Services& s, json::value config,
                                                  std::string template_name) {
  config::Layers layers{.master = s.defaults, .template_yaml = std::nullopt, .user_yaml = ""};
  if (config.is_string())
    layers.user_yaml = std::string(config.get_string());
  else if (!config.is_null())
    layers.user_yaml = json::serialize(config);
  if (config.is_string() && layers.user_yaml.size() > kConfigBytesMax)
    co_return invalid_argument("the configuration has {} bytes; at most 1 MiB is allowed",
                               layers.user_yaml.size());
  if (template_name.empty()) co_return layers;
  auto read = [&s] { return s.store.templates(); };
  const auto templates = co_await offload(s, std::move(read));
  for (const auto& known : templates)
    if (known.name == template_name) layers.template_yaml = known.yaml;
  if (!layers.template_yaml) co_return not_found("template '{}' not found", template_name);
  co_return layers;
}

Result<Launch> plan_launch(Services& s, std::string_view kind, const WorkspaceRecord& workspace,
                           const config::Layers& layers) {
  const config::Circumstances circumstances{
      .now = s.ledger.now(), .pet_name = pet_name(), .resource_pools = s.ledger.cluster().resource_pools()};
  DET_TRY(const auto policies, s.policies.in(workspace, config::Workload::Task));
  auto resolved = config::resolve_task(kind, layers, circumstances, policies);
  if (!resolved) return tl::unexpected(join_errors(resolved.error()));
  Launch launch{.config = *std::move(resolved), .pool = {}};
  launch.pool = launch_pool(s, workspace, launch.config);
  if (!policies.empty()) {
    auto& document = launch.config.document;
    const auto usual = s.ledger.cluster().pool(launch.pool).default_priority;
    if (const auto errors = config::limit(config::Workload::Task, document, policies, usual); !errors.empty())
      return tl::unexpected(join_errors(errors));
    if (const auto priority = json::to_int64(document.at("resources").at("priority")))
      launch.config.priority = static_cast<int>(*priority);
  }
  if (const auto open = check_pool(s, workspace.id, launch.pool); !open) return tl::unexpected(open.error());
  return launch;
}

task::TaskRecord record_of(Services& s, const Launch& launch, task::Type type, UserId owner,
                           const WorkspaceRecord& workspace) {
  const auto& config = launch.config;
  return {.id = checkpoint::new_uuid(),
          .type = type,
          .description = config.description,
          .owner = owner,
          .config = config.document,
          .command = {},
          .program_is_ours = type != task::Type::Command && type != task::Type::Generic,
          .job_id = checkpoint::new_uuid(),
          .resource_pool = launch.pool,
          .workspace_id = workspace.id.value(),
          .slots = config.slots,
          .priority = config.priority,
          .idle_timeout_seconds = config.idle_timeout_seconds,
          .start_time = s.ledger.now(),
          .work_dir = config.work_dir,
          .preemption_timeout_seconds = config.preemption_timeout_seconds};
}

std::optional<std::string> never_fits(Services& s, const task::TaskRecord& record) {
  const auto& cluster = s.ledger.cluster();
  auto agents = cluster.scheduler_agents(record.resource_pool);
  if (agents.empty()) return std::nullopt;  // none has come yet
  for (auto& agent : agents) {              // what is disabled can be enabled again
    agent.enabled = true;
    agent.draining = false;
    for (auto& slot : agent.slots) slot.enabled = true;
  }
  scheduler::Request request;
  request.slots = record.slots;
  request.single_agent = true;
  return scheduler::never_fits(agents, request,
                               scheduler_options(cluster.pool(record.resource_pool)).fitting);
}

}  // namespace det::master
