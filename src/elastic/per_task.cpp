// Pools in which each trial or task has an allotment of its own.

#include "det/elastic/per_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "det/elastic/occupancy.h"

namespace det::elastic {
namespace {

class PerTask {
 public:
  PerTask(const Pool& pool, Time now)
      : pool_(pool), limits_(pool.limits), now_(now), standings_(pool.allotments.size()) {}

  Decision run() {
    count();
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) judge(i);
    serve_those_that_wait();
    serve_those_that_run();
    return std::move(decision_);
  }

 private:
  struct Standing : Occupancy {
    bool open = false;    ///< its task may use it, or be about to
    bool ending = false;  ///< what runs there looks for other nodes
  };
  bool reached(const std::optional<Time>& time) const { return time && *time <= now_; }

  void count() {
    for (std::size_t i = 0; i < pool_.allotments.size(); ++i) {
      const auto& a = pool_.allotments[i];
      nodes_ += a.nodes;
      of_task_[a.task].push_back(i);
      if (a.state != State::Releasing && !a.joined) ++trying_[a.owner];
    }
    count_nodes(pool_, standings_,
                [&](const Standing&, const Node& node) { agents_[node.allotment].insert(node.agent); });
    for (const auto& run : pool_.running)
      if (!run.task.empty()) runs_[run.task] = &run;
  }

  /// What becomes of an allotment whatever its task wants next.
  void judge(std::size_t i) {
    const auto& a = pool_.allotments[i];
    auto& standing = standings_[i];
    if (a.state == State::Releasing) return;
    const bool leaves = a.state == State::Running && reached(leaves_at(limits_, a));
    if (leaves && !a.leaving) decision_.leaving.push_back(a.id);
    const auto run = runs_.find(a.task);
    const bool runs_here = run != runs_.end() && run->second->on.contains(a.id);
    standing.open = !a.leaving && !leaves && !reached(closes_at(limits_, a));
    standing.ending = a.leaving || leaves || reached(asks_ahead_at(limits_, pool_.waits, a));
    if (runs_here) return;
    if (!pool_.tasks.contains(a.task))
      release(i, "its trial or task has ended");
    else if (standing.idle() && !standing.open)
      release(i, "its time is almost over");
    else if (const auto why = why_nobody_is_there(limits_, a, standing, now_); !why.empty())
      release(i, why);
    else if (standing.idle() && run == runs_.end() && standing.joined == a.nodes &&
             now_ - standing.idle_since >= limits_.idle_timeout * kSecond)
      release(i, fmt::format("its trial or task has not started within {} s", limits_.idle_timeout));
  }

  bool serves(std::size_t i, const Demand& demand) const {
    const auto& a = pool_.allotments[i];
    if (!standings_[i].open || standings_[i].lost > 0 || a.nodes != nodes_for(limits_, demand)) return false;
    const auto agents = agents_.find(a.id);
    return agents == agents_.end() || std::ranges::none_of(agents->second, [&](const std::string& agent) {
             return demand.blocked_agents.contains(agent);
           });
  }

  void serve_those_that_wait() {
    GroupRooms rooms;
    bool full = false;
    for (const auto& demand : pool_.demands) {
      if (demand.task.empty() || !can_fit(limits_, demand)) continue;
      const bool allowed = rooms.take(demand);
      bool served = false;
      for (const auto i : allotments_of(demand.task)) {
        if (pool_.allotments[i].state == State::Releasing) continue;
        if (!served && serves(i, demand))
          served = true;
        else if (!standings_[i].busy)
          release(i, "its trial or task needs another");
      }
      // Nobody overtakes one that the pool has no room for.
      if (!served && allowed && !full && !request(demand))
        full = nodes_ + added_ + nodes_for(limits_, demand) > limits_.max_nodes;
      if (full && decision_.why_not_more.empty())
        decision_.why_not_more =
            fmt::format("the pool has {} of at most {} nodes", nodes_ + added_, limits_.max_nodes);
    }
  }

  /// One that leaves soon gets its next nodes in time, if there may be more.
  void serve_those_that_run() {
    for (const auto& run : pool_.running) {
      if (run.task.empty()) continue;
      bool moves = false, served = false;
      for (const auto i : allotments_of(run.task))
        moves = moves || (run.on.contains(pool_.allotments[i].id) && standings_[i].ending);
      for (const auto i : allotments_of(run.task)) {
        const auto& a = pool_.allotments[i];
        if (a.state == State::Releasing || run.on.contains(a.id)) continue;
        if (moves && run.goes_on && !served && !standings_[i].ending && serves(i, run))
          served = true;
        else
          release(i, "its trial or task runs elsewhere");
      }
      if (moves && run.goes_on && !served) request(run);
    }
  }

  const std::vector<std::size_t>& allotments_of(const std::string& task) const {
    static const std::vector<std::size_t> kNone;
    const auto found = of_task_.find(task);
    return found == of_task_.end() ? kNone : found->second;
  }

  bool request(const Demand& demand) {
    const int nodes = nodes_for(limits_, demand);
    if (nodes_ + added_ + nodes > limits_.max_nodes || decision_.requests.size() >= kAtOnceMax) return false;
    if (const auto failed = pool_.owner_failures.find(demand.owner);
        failed != pool_.owner_failures.end() && failed->second.count > 0) {
      // One at a time, until one of them works.
      if (trying_[demand.owner] > 0 || now_ < next_attempt(failed->second)) {
        if (decision_.why_not_more.empty()) decision_.why_not_more = failed->second.why;
        return false;
      }
    }
    ++trying_[demand.owner];
    added_ += nodes;
    decision_.requests.emplace_back(nodes, demand.task, demand.owner);
    return true;
  }

  void release(std::size_t i, std::string why) {
    if (released_.insert(i).second) decision_.releases.push_back({pool_.allotments[i].id, std::move(why)});
  }

  const Pool& pool_;
  const Limits& limits_;
  Time now_;
  Decision decision_;
  std::vector<Standing> standings_;  ///< of the allotments, in their order
  std::map<std::string, std::vector<std::size_t>> of_task_;
  std::map<std::string, std::set<std::string>> agents_;  ///< by allotment
  std::map<std::string, const Demand*> runs_;            ///< by task
  std::map<std::string, int> trying_;                    ///< by owner, allotments without an agent
  std::set<std::size_t> released_;
  int nodes_ = 0, added_ = 0;
};

}  // namespace

Decision decide_per_task(const Pool& pool, Time now) {
  return PerTask(pool, now).run();
}

}  // namespace det::elastic
