#include "det/agent/prepare/environment.h"

#include <algorithm>

#include "det/base/json.h"
#include "det/http/url.h"

namespace det::agent {

namespace {

std::string joined(const std::vector<int>& numbers, const char* separator) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : separator) + std::to_string(number);
  return text;
}

/// The GPUs of the allocation on this machine, as CUDA names them.
std::string visible_devices(const api::DesiredAllocation& allocation, const Machine& machine) {
  std::string text;
  for (const int id : allocation.slot_ids)
    for (const auto& slot : machine.slots)
      if (slot.id == id && slot.type == "cuda") text += (text.empty() ? "" : ",") + slot.uuid;
  return text;
}

}  // namespace

Environment inherited_environment(const Environment& own) {
  static const char* const kNames[] = {
      "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
      "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
      "NO_PROXY", "CUDA_HOME", "VIRTUAL_ENV", "XDG_CACHE_HOME", "TORCH_HOME", "HF_HOME",
      // Where credentials for buckets are, never the credentials themselves.
      "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
      "GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST", "STORAGE_EMULATOR_HOST", "NCCL_SOCKET_IFNAME",
      "GLOO_SOCKET_IFNAME"};
  Environment environment;
  for (const auto& [name, value] : own)
    if (name.starts_with("LC_") || std::ranges::find(kNames, name) != std::end(kNames))
      environment.emplace(name, value);
  environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  environment.try_emplace("HOME", "/");
  return environment;
}

int threads_for_slot(const Machine& machine) {
  return std::max(1, machine.cores / std::max(1, static_cast<int>(machine.slots.size())));
}

Environment malloc_environment() {
  return {{"MALLOC_MMAP_THRESHOLD_", "1073741824"}, {"MALLOC_TRIM_THRESHOLD_", "4294967296"}};
}

Environment task_environment(const api::DesiredAllocation& a, int rank, const AgentOptions& options,
                             const Machine& machine, const std::string& cluster_id,
                             const std::string& work_directory, const Environment& inherited) {
  const int local_size = a.ranks();
  const auto all = http::parse_urls(options.master_url);
  const auto leader = http::parse_url(options.leader_url);
  const auto master = leader ? *leader : all ? all->front() : http::Url();
  const auto devices = visible_devices(a, machine);
  const int threads =
      threads_for_slot(machine) * std::max(static_cast<int>(a.slot_ids.size()) / local_size, 1);
  Environment environment = {
      {"DET_MASTER", master.text()},
      {"DET_MASTER_HOST", master.host},
      {"DET_MASTER_ADDR", master.host},
      {"DET_MASTER_PORT", std::to_string(master.port)},
      {"DET_USE_TLS", master.tls ? "true" : "false"},
      {"DET_CLUSTER_ID", cluster_id},
      {"DET_AGENT_ID", options.agent_id},
      {"DET_SLOT_IDS", "[" + joined(a.slot_ids, ",") + "]"},
      {"DET_USE_GPU", devices.empty() ? "false" : "true"},
      {"DET_TASK_ID", a.task_id},
      {"DET_ALLOCATION_ID", a.allocation_id},
      {"DET_SESSION_TOKEN", a.token},
      {"DET_RESOURCES_ID", fmt::format("{}.{}", a.allocation_id, a.container_rank)},
      {"DET_CONTAINER_ID", fmt::format("{}.{}", a.allocation_id, a.container_rank)},
      {"DET_RESOURCES_TYPE",
       "docker-container"},  // What existing clients take for "ask the master for rendezvous".
      {"DET_RANK", std::to_string(rank)},
      {"DET_LOCAL_RANK", std::to_string(rank - a.rank_start)},
      {"DET_SIZE", std::to_string(a.size)},
      {"DET_LOCAL_SIZE", std::to_string(local_size)},
      {"DET_CROSS_RANK", std::to_string(a.container_rank)},
      {"DET_WORKDIR", work_directory},
      {"PYTHONHASHSEED", "0"},
      {"PYTHONUNBUFFERED", "1"},
      {"OMP_NUM_THREADS", std::to_string(threads)},
      {"CUDA_VISIBLE_DEVICES", devices},
      {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
  };
  if (all && all->size() > 1) environment["DET_MASTERS"] = http::text_of(*all);
  if (master.tls) {
    const auto& trust = options.trust;
    if (!trust.verify) environment["DET_MASTER_CERT_FILE"] = "noverify";
    if (trust.verify && !trust.file.empty()) environment["DET_MASTER_CERT_FILE"] = trust.file;
    if (!trust.name.empty()) environment["DET_MASTER_CERT_NAME"] = trust.name;
  }
  if (a.trial_id) {
    environment["DET_TASK_TYPE"] = "TRIAL";
    environment["DET_TRIAL_ID"] = std::to_string(a.trial_id.value());
    environment["DET_EXPERIMENT_ID"] = std::to_string(a.experiment_id.value());
    environment["DET_TRIAL_RUN_ID"] = std::to_string(a.run_id);
  }
  // Spinning barriers collapse when anything else wants the core.
  if (threads > 1) environment["OMP_WAIT_POLICY"] = "passive";
  if (!options.python_path.empty()) environment["PYTHONPATH"] = options.python_path;
  environment.merge(malloc_environment());
  environment.merge(Environment(inherited));
  // Without a program of ours before it, `python` has to be the agent's all the same.
  if (a.framework == api::kCommandFramework)
    if (const auto slash = options.python.rfind('/'); slash != std::string::npos)
      environment["PATH"] = options.python.substr(0, slash) + ":" + environment["PATH"];
  for (const auto& [name, value] : a.environment) {
    // The user's own import path goes first, ours must stay reachable.
    if (name == "PYTHONPATH" && !options.python_path.empty())
      environment[name] = value + ":" + options.python_path;
    else
      environment[name] = value;
  }
  return environment;
}

std::vector<std::string> isolation_for(const api::DesiredAllocation& allocation, const AgentOptions& options,
                                       const Machine& machine) {
  std::vector<std::string> steps;
  if (!options.isolate) return steps;
  const bool shares = allocation.ranks() > 1;
  for (const auto& step : machine.isolation)
    if (!shares || (step != "shm" && step != "ipc")) steps.push_back(step);
  return steps;
}

}  // namespace det::agent
