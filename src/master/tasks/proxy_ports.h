#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "det/master/services.h"

namespace det::master {

/// A port of `environment.proxy_ports`.
struct ProxyPort {
  int port = 0;
  bool tcp = false;              ///< else it serves HTTP
  bool unauthenticated = false;  ///< anybody who reaches the master may use it
  bool is_default = false;       ///< what "/proxy/TASK_ID/" is
};
std::vector<ProxyPort> proxy_ports_of(const json::object& config);

/// Such a port of a task of any type, trials too, that has an agent.
struct OpenPort : ProxyPort {
  std::string host;  ///< the agent's address
  UserId owner;
  bool of_trial = false;
};
/// Without a number: the task's default port.
std::optional<OpenPort> find_open_port(const Services& s, const std::string& task, std::optional<int> port);

/// What to do instead of ending a task for its idleness: to note that its ports were used meanwhile. None:
/// they were not, or the event ends no idle task.
std::optional<cluster::Event> used_meanwhile(const Services& s, const cluster::Event& due);

/// Where the ports of an agent's machine are reached: as the agent says, but on this machine, or where the
/// agent knows itself by a name, at the address that it speaks from.
std::string service_host(Services& s, const std::string& agent, const std::string& remote);

}  // namespace det::master
