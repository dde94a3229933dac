#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "det/scheduler/pool.h"

namespace det::scheduler {

/// "1 slot", "4 slots", "no slots".
std::string slots_text(int slots);

/// Answers never_fits for many requests of one pool; those without blocked agents
/// are the same for the same size, so it is asked once for each size.
class Feasibility {
 public:
  Feasibility(std::span<const Agent> agents, const FittingOptions& options)
      : agents_(agents), options_(options) {}
  const std::optional<std::string>& why_never(const Request& request);

 private:
  const Pool& idle();

  std::span<const Agent> agents_;
  FittingOptions options_;
  std::optional<Pool> idle_;
  std::map<std::pair<int, bool>, std::optional<std::string>> known_;  ///< by slots and single_agent
  std::optional<std::string> blocked_;                                ///< of the request asked last
};

/// Why a request that fits an idle pool does not start on this one: "needs 4 slots; 2 are free on 3 agents".
std::string why_not_now(const Pool& pool, const Request& request);

/// "; 1 request is ahead in the queue", or nothing for the first.
std::string ahead_text(std::int64_t ahead);

}  // namespace det::scheduler
