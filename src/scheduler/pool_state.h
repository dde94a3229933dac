#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "det/scheduler/scheduler.h"

namespace det::scheduler {

class Backlog;
class Pool;

/// The agents and requests of one resource pool, kept from plan to plan together with what plans look up in
/// them, so that a plan costs what has changed, and not what there is.
///
/// `plan` says what `Scheduler::plan` would say of the same agents and requests. Why requests wait is found
/// when somebody asks.
class PoolState {
 public:
  PoolState();
  ~PoolState();
  PoolState(PoolState&&) noexcept;
  PoolState& operator=(PoolState&&) noexcept;

  const std::vector<Agent>& agents() const { return agents_; }        ///< ascending by id
  const std::vector<Request>& requests() const { return requests_; }  ///< in no order
  const Request* request(const std::string& id) const;
  const Agent* agent(const std::string& id) const;

  // Whether anything has changed.
  bool put_agent(Agent agent);
  bool remove_agent(const std::string& id);
  bool put_request(Request request);
  bool remove_request(const std::string& id);

  /// Who starts, gives way, and is to start again; `waiting` is empty.
  Plan plan(const Options& options);

  /// What waits, in the order of the queue, and why: as of the last plan, or of what there was when somebody
  /// first asked after it. Empty before the first plan.
  const std::vector<Plan::Waiting>& waiting() const;
  /// Why it waits; nullptr: it does not, or came after that.
  const Why* why(const std::string& id) const;
  /// The allocation that is first in the line of those with this label; empty: nobody waits there.
  std::string first_in_line(const std::string& label) const;

 private:
  bool is_plain(const Options& options) const;
  void index(const Options& options);
  Plan plan_shortlist(bool room) const;
  void explain(std::vector<Plan::Waiting> waiting) const;

  std::vector<Agent> agents_;
  std::vector<Request> requests_;
  std::unordered_map<std::string, std::size_t> places_;  ///< of requests
  int special_ = 0;                                      ///< agents and requests that only a whole plan knows
  Options options_;                                      ///< of the last plan

  // None before the first plan, and where a whole plan was needed.
  std::unique_ptr<Backlog> backlog_;
  std::unique_ptr<Pool> now_, idle_;  ///< none: agents have come or gone
  bool refit_ = false;                ///< `idle_` can run other requests than the backlog knows

  // Found when somebody asks.
  mutable bool explained_ = true;
  mutable std::vector<Plan::Waiting> waiting_;
  mutable std::vector<std::uint32_t> whys_;  ///< of each request: its place in waiting_, from 1; 0: none
  mutable std::map<std::string, std::string> first_in_line_;  ///< by label
};

}  // namespace det::scheduler
