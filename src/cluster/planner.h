#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "det/cluster/job.h"
#include "det/scheduler/pool_state.h"

namespace det::cluster {

/// One resource pool as its scheduler sees it.
struct PoolView {
  scheduler::PoolState state;
  bool stale = true;       ///< the last plan was made of something else
  std::int64_t plans = 0;  ///< so far
  /// By allocation: slots were found, and are waited on.
  std::map<std::string, scheduler::Why> being_freed{};
};

/// What of an allocation its pool's view has.
struct AllocationView {
  Job job;
  std::string pool;
  std::vector<std::string> agents;  ///< on which it has shares
  bool idle = false;                ///< its request does not exist to the scheduler
};

/// What the schedulers of all pools are asked, kept from event to event, so that an event costs what it
/// changes. All of it is derived: `Cluster::refresh` puts in what has changed, and nothing else.
class Planner {
 public:
  const std::map<std::string, PoolView>& pools() const { return pools_; }
  const PoolView& pool(const std::string& name) const;
  const std::set<std::string>& allocations_on(const std::string& agent) const;
  const std::set<std::string>& allocations_of(const Job& job) const;
  const std::set<std::string>& idle() const { return idle_; }
  const AllocationView* allocation(const std::string& id) const;
  /// What the last plan said of it; nullptr if it does not wait.
  const scheduler::Why* why(const std::string& allocation) const;
  /// The allocation that is first in its line; empty if it is the first itself, or in none.
  std::string behind(const std::string& allocation) const;

  /// Whether its requests say something else now than before.
  bool put_job(const Job& job, const std::string& pool, const scheduler::Request& terms);
  void remove_job(const Job& job);
  void put_allocation(const std::string& id, AllocationView view, scheduler::Request request);
  void remove_allocation(const std::string& id);
  /// Where an agent stands, connected or not. Whether that is news, for what it holds is of that pool and
  /// label.
  bool put_standing(const std::string& agent, const std::string& pool, const std::string& label);
  /// Of which allotment the agent is one; empty: of none.
  void put_allotment(const std::string& agent, const std::string& allotment);
  const std::set<std::string>& agents_of(const std::string& allotment) const;
  bool remove_standing(const std::string& agent);
  /// As the scheduler of the pool sees it; only those that are connected.
  void put_agent(const std::string& pool, scheduler::Agent agent);
  void remove_agent(const std::string& id);
  void all_stale();

  /// The plan for the pool as it is now.
  scheduler::Plan plan(const std::string& pool, const scheduler::Options& options);
  void being_freed(const std::string& allocation, const scheduler::Why& why);

 private:
  struct JobView {
    std::string pool;
    scheduler::Request terms;
    std::set<std::string> allocations{};
  };
  struct Standing {
    std::string pool, label;
    friend bool operator==(const Standing&, const Standing&) = default;
  };
  void remove_request(const std::string& id, const AllocationView& view);

  std::map<std::string, PoolView> pools_;
  std::map<Job, JobView> jobs_;
  std::unordered_map<std::string, AllocationView> allocations_;  // only looked up: its order decides nothing
  std::map<std::string, std::set<std::string>> on_agents_;       // allocations
  std::map<std::string, Standing> standings_;                    // of agents
  std::map<std::string, std::string> agent_pools_;               // of those that a view has
  std::map<std::string, std::string> allotments_;                // of agents
  std::map<std::string, std::set<std::string>> of_allotments_;   // agents
  std::set<std::string> idle_;
};

}  // namespace det::cluster
