#include "det/master/elastic/provider_settings.h"

#include <algorithm>

#include "det/master/administration/section.h"

namespace det::master {
namespace {

constexpr int kNodesMax = 100'000;

void read_limits(Section& section, elastic::Limits& limits) {
  section.integer("min_nodes", 0, kNodesMax, limits.min_nodes);
  section.integer("max_nodes", 1, kNodesMax, limits.max_nodes);
  section.integer("nodes_per_job", 1, kNodesMax, limits.nodes_per_job);
  section.integer("slots_per_node", 0, 10'000, limits.slots_per_node);
  section.seconds("idle_timeout", 0, limits.idle_timeout);
  section.seconds("grace_period", 1, limits.grace_period);
  section.seconds("start_timeout", 1, limits.start_timeout);
  if (limits.min_nodes > limits.max_nodes)
    section.problem("min_nodes", fmt::format("is {}; it must not be greater than max_nodes, which is {}",
                                             limits.min_nodes, limits.max_nodes));
  if (limits.nodes_per_job > limits.max_nodes)
    section.problem("nodes_per_job", fmt::format("is {}; it must not be greater than max_nodes, which is {}",
                                                 limits.nodes_per_job, limits.max_nodes));
}

void read_slurm(Section& section, ProviderSettings& settings) {
  section.text("partition", settings.partition);
  section.text("account", settings.account);
  section.text("qos", settings.qos);
  section.text("reservation", settings.reservation);
  section.text("gres", settings.gres);
  section.text("constraint", settings.constraint);
  section.text("mem", settings.mem);
  section.integer("cpus_per_node", 0, 100'000, settings.cpus_per_node);
  section.texts("extra", settings.extra);
  for (const auto& option : settings.extra)
    if (!option.starts_with('-'))
      section.problem("extra", fmt::format("has '{}'; each must be an option of sbatch, such as --exclusive",
                                           option));
  settings.gpus = settings.gres.starts_with("gpu");
  section.flag("gpus", settings.gpus);
}

void read_ssh(Section& section, ProviderSettings& settings) {
  section.texts("hosts", settings.hosts);
  section.texts("ssh_options", settings.ssh_options);
  section.flag("gpus", settings.gpus);
  if (settings.hosts.empty()) section.problem("hosts", "is required: the machines, such as [box1, ada@box2]");
  settings.limits.max_nodes = std::max(1, static_cast<int>(settings.hosts.size()));
}

}  // namespace

ProviderSettings read_provider(json::value value, const std::string& path, std::vector<Error>& problems) {
  ProviderSettings settings;
  Section section(std::move(value), path, problems);
  section.choice<ProviderType>("type",
                               {{"slurm", ProviderType::Slurm},
                                {"ray", ProviderType::Ray},
                                {"kubernetes", ProviderType::Kubernetes},
                                {"ssh", ProviderType::Ssh},
                                {"process", ProviderType::Process}},
                               settings.type, true);
  if (settings.type == ProviderType::Ssh) read_ssh(section, settings);
  read_limits(section, settings.limits);
  section.seconds("time_limit", 1, settings.time_limit);
  if (settings.time_limit > 0 && settings.time_limit <= settings.limits.grace_period)
    section.problem("time_limit", fmt::format("is {} s; it must be longer than grace_period, which is {} s",
                                              settings.time_limit, settings.limits.grace_period));
  section.text("master_url", settings.master_url);
  section.text("program", settings.program);
  section.text("work_dir", settings.work_dir);
  section.text("log_dir", settings.log_dir);
  section.text("prologue", settings.prologue);
  section.texts("agent_options", settings.agent_options);
  switch (settings.type) {
    case ProviderType::Slurm: read_slurm(section, settings); break;
    case ProviderType::Ray:
      settings.address = "auto";
      section.text("address", settings.address);
      section.flag("gpus", settings.gpus);
      break;
    case ProviderType::Kubernetes: {
      section.text("address", settings.address);
      section.text("kubeconfig", settings.kubeconfig);
      section.text("namespace", settings.k8s_namespace);
      section.text("image", settings.image);
      section.flag("gpus", settings.gpus);
      if (settings.image.empty()) section.problem("image", "is required: the container image with det");
      auto pod = section.take("pod");
      if (pod.is_object())
        settings.pod = std::move(pod.get_object());
      else if (!pod.is_null())
        section.problem("pod", "must be a map: members of a pod's spec");
      break;
    }
    case ProviderType::Ssh:
    case ProviderType::Process: break;
  }
  return settings;
}

std::string describe(const ProviderSettings& settings) {
  switch (settings.type) {
    case ProviderType::Slurm:
      return settings.partition.empty() ? "Slurm" : "Slurm partition " + settings.partition;
    case ProviderType::Ray: return settings.address == "auto" ? "Ray" : "Ray cluster " + settings.address;
    case ProviderType::Kubernetes:
      return settings.k8s_namespace.empty() ? "Kubernetes" : "Kubernetes namespace " + settings.k8s_namespace;
    case ProviderType::Ssh: return fmt::format("{} machines by SSH", settings.hosts.size());
    case ProviderType::Process: return "local processes";
  }
  return "";
}

}  // namespace det::master
