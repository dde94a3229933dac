#pragma once

#include <any>
#include <string>

#include "det/access/rate.h"
#include "det/base/error.h"

namespace det::master {

/// What a call counts: 1, or more where it costs the master more than most.
double cost_of(const std::string& operation);

/// How much each user may ask for in a time. Agents and the processes of tasks are not counted: they pace
/// themselves, and what they say must arrive.
class RequestLimits {
 public:
  explicit RequestLimits(const access::RateLimit::Limits& limits) : rates_(limits) {}

  /// ResourceExhausted says when to try again.
  Result<void> admit(const std::any& principal, const std::string& operation, Time now);

 private:
  access::RateLimit rates_;
};

}  // namespace det::master
