#include "det/master/tasks/proxy_ports.h"

#include <boost/asio/ip/address.hpp>

namespace det::master {

namespace {

const cluster::Allocation* allocation_of(const cluster::Cluster& cluster, const std::string& task) {
  const auto& all = cluster.allocations();
  const cluster::Allocation* newest = nullptr;
  for (auto at = all.lower_bound(task + "."); at != all.end() && at->first.starts_with(task + "."); ++at)
    if (at->second.record.task_id == task) newest = &at->second;
  return newest;
}

}  // namespace

std::vector<ProxyPort> proxy_ports_of(const json::object& config) {
  std::vector<ProxyPort> ports;
  const auto* environment = config.if_contains("environment");
  if (environment == nullptr || !environment->is_object()) return ports;
  const auto* list = environment->get_object().if_contains("proxy_ports");
  if (list == nullptr || !list->is_array()) return ports;
  for (const auto& item : list->get_array()) {
    if (!item.is_object()) continue;
    const auto& entry = item.get_object();
    const auto is_set = [&](std::string_view name) {
      const auto* value = entry.if_contains(name);
      return value != nullptr && value->is_bool() && value->get_bool();
    };
    const auto* number = entry.if_contains("proxy_port");
    ports.push_back({.port = static_cast<int>(number == nullptr ? 0 : json::to_int64(*number).value_or(0)),
                     .tcp = is_set("proxy_tcp"),
                     .unauthenticated = is_set("unauthenticated"),
                     .is_default = is_set("default_service_id")});
  }
  return ports;
}

std::optional<cluster::Event> used_meanwhile(const Services& s, const cluster::Event& due) {
  const auto* killed = due.as<cluster::TaskKilled>();
  if (killed == nullptr) return std::nullopt;
  const auto* task = s.ledger.cluster().task(killed->task_id);
  const auto* allocation = allocation_of(s.ledger.cluster(), killed->task_id);
  if (task == nullptr || allocation == nullptr || !task->idle_since()) return std::nullopt;
  auto used = s.proxies.last_use(killed->task_id);
  // Who used them before the master's start is not known; they may have.
  if (!used && !proxy_ports_of(task->record().config).empty()) used = s.proxies.watched_since();
  if (!used || *used <= *task->idle_since()) return std::nullopt;
  return cluster::TaskIdled{.allocation_id = allocation->record.id, .since = *used};
}

std::string service_host(Services& s, const std::string& agent, const std::string& remote) {
  boost::system::error_code failure;
  const auto from = asio::ip::make_address(remote.substr(0, remote.rfind(':')), failure);
  if (!failure && from.is_loopback()) return from.to_string();
  const auto told = s.agent_addresses.find(agent);
  if (told != s.agent_addresses.end()) {
    asio::ip::make_address(told->second, failure);
    if (!failure) return told->second;
  }
  return from.to_string();
}

std::optional<OpenPort> find_open_port(const Services& s, const std::string& task, std::optional<int> port) {
  const auto& cluster = s.ledger.cluster();
  const auto* allocation = allocation_of(cluster, task);
  if (allocation == nullptr || allocation->record.shares.empty()) return std::nullopt;
  OpenPort open;
  open.host = s.proxies.host_of(allocation->record.shares.front().agent);
  if (open.host.empty()) return std::nullopt;
  std::vector<ProxyPort> ports;
  if (const auto* live = cluster.task(task)) {
    ports = proxy_ports_of(live->record().config);
    open.owner = live->record().owner;
  } else if (const auto* experiment = cluster.experiment(allocation->record.experiment_id)) {
    ports = proxy_ports_of(experiment->record().config);
    open.owner = experiment->record().owner;
    open.of_trial = true;
  }
  for (const auto& one : ports)
    if (port ? one.port == *port : one.is_default) {
      static_cast<ProxyPort&>(open) = one;
      return open;
    }
  return std::nullopt;
}

}  // namespace det::master
