#pragma once

#include <map>
#include <string>
#include <vector>

#include "det/base/time.h"

namespace det::cluster {

/// How long an agent owns what it runs, counted on its own clock from sending a heartbeat.
constexpr std::int64_t kLeaseSeconds = 20;
/// Without a word for so long an agent is lost: its lease, the 15 s that a task has to end, and a margin.
constexpr std::int64_t kLostSeconds = 40;

/// When each agent was last heard. It is not part of the cluster's state, which time does not
/// change: a restarted master has heard nobody yet and gives everyone the full time again.
class Liveness {
 public:
  explicit Liveness(Time start) : start_(start) {}

  void heard(const std::string& agent, Time now) {
    auto& last = last_[agent];
    if (last < now) last = now;
  }

  /// Keeps nothing of agents that are not among these.
  template <typename Agents>
  void forget_strangers(const Agents& agents) {
    if (last_.size() > agents.size())
      std::erase_if(last_, [&](const auto& entry) { return !agents.contains(entry.first); });
  }

  /// Those of `agents` that are silent for too long.
  template <typename Agents>
  std::vector<std::string> lost(const Agents& agents, Time now) const {
    std::vector<std::string> silent;
    for (const auto& [id, agent] : agents) {
      if (!agent.connected) continue;
      const auto found = last_.find(id);
      const Time last = found == last_.end() ? start_ : found->second;
      if (now - last > kLostSeconds * kSecond) silent.push_back(id);
    }
    return silent;
  }

 private:
  Time start_;
  std::map<std::string, Time> last_;
};

}  // namespace det::cluster
