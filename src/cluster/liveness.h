#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "det/base/time.h"

namespace det::cluster {

/// How long an agent owns what it runs, counted on its own clock from sending a heartbeat.
constexpr std::int64_t kLeaseSeconds = 20;
/// Without a word for so long an agent is lost: its lease, the 15 s that a task has to end, and a margin.
constexpr std::int64_t kLostSeconds = 40;
/// An agent that lives has a call open or calls again at once: without one for so long it is given nothing
/// new.
constexpr std::int64_t kSilentSeconds = 5;

/// When each agent called. It is not part of the cluster's state, which time does not
/// change: a restarted master has heard nobody yet and gives everyone the full time again.
///
/// Its times are those of a clock that does not jump.
class Liveness {
 public:
  explicit Liveness(Time start) : start_(start) {}

  void called(const std::string& agent, Time now) {
    auto& line = lines_[agent];
    line.called = std::max(line.called, now);
    ++line.open;
  }
  /// Once for each call, also where it ended without an answer.
  void answered(const std::string& agent, Time now) {
    auto& line = lines_[agent];
    line.left = std::max(line.left, now);
    line.open = std::max(line.open - 1, 0);
  }

  /// Whoever asks could not hear until now: everyone is given the full time again.
  void was_deaf_until(Time now) { start_ = std::max(start_, now); }

  /// Keeps nothing of agents that are not among these, unless they call.
  template <typename Agents>
  void forget_strangers(const Agents& agents) {
    if (lines_.size() > agents.size())
      std::erase_if(
          lines_, [&](const auto& entry) { return !agents.contains(entry.first) && entry.second.open == 0; });
  }

  /// Those of `agents` of which nobody knows yet that they have stopped calling.
  template <typename Agents>
  std::vector<std::string> silent(const Agents& agents, Time now) const {
    std::vector<std::string> silent;
    for (const auto& [id, agent] : agents) {
      if (!agent.connected || agent.silent) continue;
      const auto line = line_of(id);
      if (line.open == 0 && now - std::max(line.left, start_) > kSilentSeconds * kSecond)
        silent.push_back(id);
    }
    return silent;
  }

  /// Those of `agents` that have not called for too long.
  template <typename Agents>
  std::vector<std::string> lost(const Agents& agents, Time now) const {
    std::vector<std::string> lost;
    for (const auto& [id, agent] : agents)
      if (agent.connected && now - std::max(line_of(id).called, start_) > kLostSeconds * kSecond)
        lost.push_back(id);
    return lost;
  }

 private:
  struct Line {
    Time called, left;  ///< the last time
    int open = 0;       ///< calls that are not answered yet
  };
  Line line_of(const std::string& agent) const {
    const auto found = lines_.find(agent);
    return found == lines_.end() ? Line{} : found->second;
  }

  Time start_;
  std::map<std::string, Line> lines_;
};

}  // namespace det::cluster
