#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace det::master {

/// Where the services of running tasks answer: notebooks, TensorBoards, shells. `/proxy/{taskId}/…` reaches
/// these addresses and no others. In memory: the master fills it again from the records of tasks after a
/// restart.
///
/// Threads: the strand.
class Proxies {
 public:
  struct Address {
    std::string host;  ///< an IP address
    std::uint16_t port = 0;
    /// What the service wants to see as `Authorization: Bearer …`, so that nobody but the master can use it.
    /// Empty: it wants nothing.
    std::string secret;
    int ssh_port = 0;  ///< of a shell's SSH server, which lets in who has the shell's key; 0: there is none
    bool operator==(const Address&) const = default;
  };

  void set(const std::string& task, std::string host, std::uint16_t port, std::string secret = {},
           int ssh_port = 0) {
    addresses_.insert_or_assign(task, Address{std::move(host), port, std::move(secret), ssh_port});
  }
  void remove(const std::string& task) { addresses_.erase(task); }

  std::optional<Address> find(const std::string& task) const {
    const auto found = addresses_.find(task);
    return found == addresses_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Where the ports of an agent's machine are reached, as it was seen last; empty: it was not seen.
  void saw_agent(const std::string& agent, std::string host) {
    hosts_.insert_or_assign(agent, std::move(host));
  }
  std::string host_of(const std::string& agent) const {
    const auto found = hosts_.find(agent);
    return found == hosts_.end() ? std::string() : found->second;
  }

 private:
  std::map<std::string, std::string> hosts_;
  std::map<std::string, Address> addresses_;
};

}  // namespace det::master
