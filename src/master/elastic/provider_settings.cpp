#include "det/master/elastic/provider_settings.h"

#include <algorithm>
#include <set>

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
  section.choice<elastic::Granularity>(
      "granularity", {{"pool", elastic::Granularity::Pool}, {"task", elastic::Granularity::Task}},
      limits.granularity, false);
  section.seconds("lead_time", 0, limits.lead_time);
  section.seconds("useful_time", 0, limits.useful_time);
  if (limits.granularity == elastic::Granularity::Task) {
    if (limits.min_nodes > 0)
      section.problem("min_nodes",
                      fmt::format("is {}; it must be 0 with granularity: task, where a node comes "
                                  "and goes with its trial",
                                  limits.min_nodes));
    if (limits.nodes_per_job > 1)
      section.problem("nodes_per_job",
                      fmt::format("is {}; with granularity: task each job has the nodes that "
                                  "its trial needs",
                                  limits.nodes_per_job));
  }
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
      section.problem("extra",
                      fmt::format("has '{}'; each must be an option of sbatch, such as --exclusive", option));
  section.texts("as_owner", settings.as_owner);
  const bool per_task = settings.limits.granularity == elastic::Granularity::Task;
  const auto names_owner = [](const std::string& text) { return text.find("{owner}") != std::string::npos; };
  const auto& words = settings.as_owner;
  if (!words.empty() && (words.front().starts_with('-') || std::ranges::none_of(words, names_owner)))
    section.problem("as_owner",
                    "must be a command that runs others as {owner}, such as [sudo, -n, -u, '{owner}', --]");
  if (!words.empty() && !per_task)
    section.problem("as_owner", "needs granularity: task; other jobs run trials of several users");
  if (!per_task && (names_owner(settings.account) || names_owner(settings.qos) ||
                    std::ranges::any_of(settings.extra, names_owner)))
    section.problem("granularity", "must be task where other settings name {owner}");
  settings.gpus = settings.gres.starts_with("gpu");
  section.flag("gpus", settings.gpus);
}

void read_ssh(Section& section, ProviderSettings& settings) {
  section.texts("hosts", settings.hosts);
  section.texts("ssh_options", settings.ssh_options);
  section.flag("gpus", settings.gpus);
  if (settings.hosts.empty()) section.problem("hosts", "is required: the machines, such as [box1, ada@box2]");
  std::set<std::string> seen;
  for (const auto& host : settings.hosts) {
    if (host.empty() || host.starts_with('-') || host.find_first_of(" \t\n,;'\"") != std::string::npos)
      section.problem(
          "hosts",
          fmt::format("has '{}'; each must be a name that ssh takes, such as box1 or ada@box2", host));
    if (!seen.insert(host).second)
      section.problem("hosts", fmt::format("has '{}' twice; each machine is one node", host));
  }
  settings.limits.max_nodes = std::max(1, static_cast<int>(settings.hosts.size()));
}

void read_ray(Section& section, ProviderSettings& settings) {
  settings.address = "auto";
  section.text("address", settings.address);
  section.text("python", settings.python);
  section.flag("gpus", settings.gpus);
  section.integer("cpus_per_node", 0, 100'000, settings.cpus_per_node);
  if (const auto& address = settings.address;
      address != "auto" &&
      (address.find("://") != std::string::npos || address.find(':') == std::string::npos))
    section.problem(
        "address",
        fmt::format("is '{}'; it must be 'auto' or HOST:PORT of the head, such as head:6379", address));
  const auto resources = section.take("resources");
  if (!resources.is_null() && !resources.is_object())
    section.problem("resources",
                    "must be a map: names of Ray's resources and how much of each a node must have");
  if (!resources.is_object()) return;
  for (const auto& [name, value] : resources.get_object()) {
    const auto amount = value.is_number() ? value.to_number<double>() : 0;
    if (name == "CPU" || name == "GPU")
      section.problem("resources", fmt::format("has {}, which slots_per_node and cpus_per_node say", name));
    else if (amount <= 0)
      section.problem("resources", fmt::format("has {} of '{}'; it must be a number greater than 0",
                                               json::serialize(value), name));
    else
      settings.resources[std::string(name)] = amount;
  }
}

/// What a name in Kubernetes must be: a DNS label.
bool is_label(const std::string& name) {
  const auto fine = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= 63 && std::ranges::all_of(name, fine) && name.front() != '-' &&
         name.back() != '-';
}

void read_kubernetes(Section& section, ProviderSettings& settings) {
  section.text("address", settings.address);
  section.text("kubeconfig", settings.kubeconfig);
  section.text("namespace", settings.k8s_namespace);
  section.text("image", settings.image);
  section.text("mem", settings.mem);
  section.integer("cpus_per_node", 0, 100'000, settings.cpus_per_node);
  section.flag("gpus", settings.gpus);
  if (settings.image.empty()) section.problem("image", "is required: the container image with det");
  if (!settings.address.empty() && !settings.kubeconfig.empty())
    section.problem("address", "and kubeconfig are both set; the API server is named by one of them");
  if (!settings.address.empty() && !settings.address.starts_with("http://") &&
      !settings.address.starts_with("https://"))
    section.problem("address",
                    fmt::format("is '{}'; it must be the URL of an API server, such as https://k8s:6443",
                                settings.address));
  if (!settings.k8s_namespace.empty() && !is_label(settings.k8s_namespace))
    section.problem("namespace", fmt::format("is '{}'; it must be lower-case letters, digits and '-'",
                                             settings.k8s_namespace));
  auto pod = section.take("pod");
  if (pod.is_object())
    settings.pod = std::move(pod.get_object());
  else if (!pod.is_null())
    section.problem("pod", "must be a map: members of a pod's spec");
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
  if (const int count = static_cast<int>(settings.hosts.size());
      count > 0 && settings.limits.max_nodes > count)
    section.problem("max_nodes",
                    fmt::format("is {}; it must not be greater than the number of hosts, which is {}",
                                settings.limits.max_nodes, count));
  if (settings.type != ProviderType::Ssh) section.seconds("time_limit", 1, settings.time_limit);
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
    case ProviderType::Slurm:
      read_slurm(section, settings);
      if (!settings.as_owner.empty() && settings.log_dir.empty())
        section.problem("log_dir", "is required with as_owner: a directory in which all owners can write");
      break;
    case ProviderType::Ray: read_ray(section, settings); break;
    case ProviderType::Kubernetes: read_kubernetes(section, settings); break;
    case ProviderType::Ssh:
    case ProviderType::Process: break;
  }
  return settings;
}

std::string for_owner(std::string text, const std::string& owner) {
  constexpr std::string_view kWord = "{owner}";
  for (auto at = text.find(kWord); at != std::string::npos; at = text.find(kWord, at + owner.size()))
    text.replace(at, kWord.size(), owner);
  return text;
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
