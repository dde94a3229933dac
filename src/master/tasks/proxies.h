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
    bool operator==(const Address&) const = default;
  };

  void set(const std::string& task, std::string host, std::uint16_t port, std::string secret = {}) {
    addresses_.insert_or_assign(task, Address{std::move(host), port, std::move(secret)});
  }
  void remove(const std::string& task) { addresses_.erase(task); }

  std::optional<Address> find(const std::string& task) const {
    const auto found = addresses_.find(task);
    return found == addresses_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::string, Address> addresses_;
};

}  // namespace det::master
