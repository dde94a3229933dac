#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "det/base/time.h"

namespace det::master {

/// Who uses the ports of a task: requests and connections through the proxy. Threads: any.
class ProxyUse {
 public:
  void begin() {
    seen_ = true;
    ++open_;
  }
  void end() {
    seen_ = true;
    --open_;
  }
  /// Whether somebody has used them since the last call.
  bool take() { return seen_.exchange(false) || open_ > 0; }

 private:
  std::atomic<int> open_{0};
  std::atomic<bool> seen_{false};
};

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

  /// Of the ports of a task that is there.
  std::shared_ptr<ProxyUse> use_of(const std::string& task) {
    auto& use = uses_[task].first;
    if (!use) use = std::make_shared<ProxyUse>();
    return use;
  }
  /// Looks who was used until now. `is_there`: whether a task is not over; the others are forgotten.
  template <class IsThere>
  void look_at_uses(Time now, const IsThere& is_there) {
    if (!watched_since_) watched_since_ = now;
    std::erase_if(uses_, [&](const auto& entry) { return !is_there(entry.first); });
    for (auto& [task, use] : uses_)
      if (use.first->take()) use.second = now;
  }
  /// Since when uses are seen: the start of the master. None: it has not looked yet.
  std::optional<Time> watched_since() const { return watched_since_; }
  /// None: they were not used since then.
  std::optional<Time> last_use(const std::string& task) const {
    const auto found = uses_.find(task);
    return found == uses_.end() ? std::nullopt : found->second.second;
  }

 private:
  std::optional<Time> watched_since_;
  std::map<std::string, std::pair<std::shared_ptr<ProxyUse>, std::optional<Time>>> uses_;
  std::map<std::string, std::string> hosts_;
  std::map<std::string, Address> addresses_;
};

}  // namespace det::master
