#pragma once

#include <any>
#include <string>

#include "det/access/rate.h"
#include "det/base/error.h"

namespace det::master {

/// The cost of a call: 1, or more for calls that are expensive for the master.
double cost_of(const std::string& operation);

/// The request limit of each user. Agents and the processes of tasks are not limited: they pace themselves,
/// and their reports must arrive.
class RequestLimits {
 public:
  explicit RequestLimits(const access::RateLimit::Limits& limits) : rates_(limits) {}

  /// ResourceExhausted says when to retry.
  Result<void> admit(const std::any& principal, const std::string& operation, Time now);

 private:
  access::RateLimit rates_;
};

}  // namespace det::master
