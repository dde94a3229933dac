#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "det/base/time.h"

namespace det::access {

/// How long to wait after failed logins before the next attempt: nothing after the first failures, then one
/// second, doubled with each further one up to `longest`. Failures are counted per user and address, so that
/// no one can lock out another user from elsewhere, and per address, so that no one can try many names.
///
/// Memory is bounded: what is forgotten first is what nobody waits for any more.
class Throttle {
 public:
  struct Limits {
    int free_per_user = 5;      ///< failures of one user from one address
    int free_per_address = 50;  ///< failures of one address
    std::int64_t longest_seconds = 300;
    std::size_t remembered = 10'000;
  };

  Throttle() = default;
  explicit Throttle(const Limits& limits) : limits_(limits) {}

  /// Seconds, rounded up; 0: go on.
  std::int64_t wait(const std::string& user, const std::string& address, Time now) const;
  void failed(const std::string& user, const std::string& address, Time now);
  /// Forgets the failures of this user from this address.
  void succeeded(const std::string& user, const std::string& address);

 private:
  struct Failures {
    int count = 0;
    Time until{};  ///< nobody tries before
    Time last{};
  };
  void count(const std::string& key, int free, Time now);
  void make_room(Time now);

  Limits limits_;
  std::map<std::string, Failures> failures_;
};

}  // namespace det::access
