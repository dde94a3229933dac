#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace det::master {

/// Where the services of running tasks answer: notebooks, TensorBoards, shells. `/proxy/{taskId}/…` reaches
/// these addresses and no others. Kept in memory: services say again where they are after a restart.
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
  /// What there is to say of a task that has no address.
  enum class State { Unknown, NotReady, Ended };

  void set(const std::string& task, std::string host, std::uint16_t port, std::string secret = {}) {
    addresses_.insert_or_assign(task, Address{std::move(host), port, std::move(secret)});
  }
  void remove(const std::string& task) { addresses_.erase(task); }

  std::optional<Address> find(const std::string& task) const {
    const auto found = addresses_.find(task);
    return found == addresses_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Asked of tasks without an address; without it they are all unknown.
  void on_absent(std::function<State(const std::string& task)> state) { absent_ = std::move(state); }
  State absent(const std::string& task) const { return absent_ ? absent_(task) : State::Unknown; }

 private:
  std::map<std::string, Address> addresses_;
  std::function<State(const std::string&)> absent_;
};

}  // namespace det::master
