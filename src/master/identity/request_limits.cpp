#include "det/master/identity/request_limits.h"

#include <map>
#include <string_view>

#include "det/master/identity/auth.h"

namespace det::master {

double cost_of(const std::string& operation) {
  // Work of seconds for a thread of the pool, or many rows or bytes.
  static const std::map<std::string_view, double> kCosts{
      {"POST /api/v1/simulate", 200},
      {"POST /api/v1/preview-hp-search", 50},
      {"GET /api/v1/resources/allocation/raw", 100},
      {"GET /api/v1/resources/allocation/aggregated", 100},
      {"GET /resources/allocation/raw", 100},
      {"GET /resources/allocation/allocations-csv", 100},
      {"GET /resources/allocation/aggregated", 100},
      {"POST /api/v1/cleanup_logs", 100},
      {"GET /checkpoints/{uuid}", 50},
  };
  const auto found = kCosts.find(operation);
  return found == kCosts.end() ? 1 : found->second;
}

Result<void> RequestLimits::admit(const std::any& principal, const std::string& operation, Time now) {
  const auto* who = std::any_cast<Principal>(&principal);
  const auto* user = who == nullptr ? nullptr : std::get_if<UserPrincipal>(who);
  if (user == nullptr || !user->allocation_id.empty()) return {};
  const auto wait = rates_.take(user->username, cost_of(operation), now);
  if (wait == 0) return {};
  return fail(ErrorCode::ResourceExhausted,
              "user '{}' exceeds the request limit (security.rate_limit); retry in {} s", user->username,
              wait);
}

}  // namespace det::master
