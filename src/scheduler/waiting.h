#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "det/scheduler/pool.h"

namespace det::scheduler {

/// Answers never_fits for many requests of one pool; those without blocked agents
/// are the same for the same size, so it is asked once for each size.
class Feasibility {
 public:
  Feasibility(std::span<const Agent> agents, const FittingOptions& options)
      : agents_(agents), options_(options) {}
  /// `idle` is the pool with nothing running; it must outlive this.
  explicit Feasibility(const Pool& idle) : known_idle_(&idle) {}
  /// nullptr: it fits. Valid until the next question.
  const Why* why_never(const Queued& request);

 private:
  const Pool& idle();

  std::span<const Agent> agents_;
  FittingOptions options_;
  const Pool* known_idle_ = nullptr;
  std::optional<Pool> idle_;
  std::unordered_map<std::int64_t, std::optional<Why>> known_;  ///< by slots and single_agent
  std::map<std::tuple<int, bool, Attributes>, std::optional<Why>> known_of_kind_;  ///< … and attributes
  std::optional<Why> blocked_;  ///< of the request asked last
};

/// Why a request that fits an idle pool does not start on this one.
Why why_not_now(const Pool& pool, const Queued& request);

}  // namespace det::scheduler
