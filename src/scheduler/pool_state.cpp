#include "det/scheduler/pool_state.h"

#include <algorithm>
#include <utility>

#include "det/scheduler/backlog.h"

namespace det::scheduler {

namespace {

bool is_special(const Agent& agent) {
  return !agent.label.empty() || agent.until || !agent.reserved_for.empty();
}

bool is_special(const Request& request) {
  return !request.label.empty() || request.slot_counts.size() > 1;
}

/// Whether the same requests could run on both if nothing else did.
bool offer_the_same(const Agent& a, const Agent& b) {
  return a.attributes == b.attributes && a.enabled == b.enabled && a.draining == b.draining &&
         a.zero_slot_max == b.zero_slot_max &&
         std::ranges::equal(a.slots, b.slots, [](const Slot& one, const Slot& other) {
           return one.id == other.id && one.enabled == other.enabled;
         });
}

}  // namespace

PoolState::PoolState() = default;
PoolState::~PoolState() = default;
PoolState::PoolState(PoolState&&) noexcept = default;
PoolState& PoolState::operator=(PoolState&&) noexcept = default;

const Request* PoolState::request(const std::string& id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &requests_[found->second];
}

const Agent* PoolState::agent(const std::string& id) const {
  const auto at = std::ranges::lower_bound(agents_, id, {}, &Agent::id);
  return at == agents_.end() || at->id != id ? nullptr : &*at;
}

bool PoolState::put_agent(Agent agent) {
  const auto at = std::ranges::lower_bound(agents_, agent.id, {}, &Agent::id);
  special_ += is_special(agent) ? 1 : 0;
  if (at == agents_.end() || at->id != agent.id) {
    agents_.insert(at, std::move(agent));
    now_.reset();
    refit_ = true;
    return true;
  }
  special_ -= is_special(*at) ? 1 : 0;
  if (*at == agent) return false;
  refit_ = refit_ || !offer_the_same(*at, agent);
  *at = std::move(agent);
  if (now_ == nullptr) return true;
  const auto place = static_cast<std::size_t>(at - agents_.begin());
  if (!now_->update(place, *at) || !idle_->update(place, *at)) now_.reset();
  return true;
}

bool PoolState::remove_agent(const std::string& id) {
  const auto at = std::ranges::lower_bound(agents_, id, {}, &Agent::id);
  if (at == agents_.end() || at->id != id) return false;
  special_ -= is_special(*at) ? 1 : 0;
  agents_.erase(at);
  now_.reset();
  refit_ = true;
  return true;
}

bool PoolState::put_request(Request request) {
  const auto [found, is_new] = places_.try_emplace(request.allocation_id, requests_.size());
  const auto place = found->second;
  special_ += is_special(request) ? 1 : 0;
  if (is_new) {
    requests_.push_back(std::move(request));
    whys_.push_back(0);
  } else {
    auto& kept = requests_[place];
    special_ -= is_special(kept) ? 1 : 0;
    if (kept == request) return false;
    if (backlog_ != nullptr) backlog_->remove(kept.allocation_id);
    kept = std::move(request);
  }
  if (backlog_ != nullptr) backlog_->add(requests_[place], place);
  return true;
}

/// The last request takes its place.
bool PoolState::remove_request(const std::string& id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return false;
  const auto place = found->second;
  if (backlog_ != nullptr) backlog_->remove(id);
  special_ -= is_special(requests_[place]) ? 1 : 0;
  places_.erase(found);
  if (place + 1 < requests_.size()) {
    requests_[place] = std::move(requests_.back());
    whys_[place] = whys_.back();
    const auto& moved = requests_[place].allocation_id;
    places_.at(moved) = place;
    if (backlog_ != nullptr) backlog_->moved(moved, place);
  }
  requests_.pop_back();
  whys_.pop_back();
  return true;
}

/// Whether some of the requests can decide a plan.
bool PoolState::is_plain(const Options& options) const {
  return special_ == 0 && !options.fitting.heterogeneous;
}

void PoolState::index(const Options& options) {
  const bool known = backlog_ != nullptr && options.policy == options_.policy &&
                     options.preemption == options_.preemption &&
                     options.fitting.fitting == options_.fitting.fitting;
  if (!known) {
    now_.reset();
    refit_ = false;
    backlog_ = std::make_unique<Backlog>(options);
    for (std::size_t place = 0; place < requests_.size(); ++place) backlog_->add(requests_[place], place);
  }
  if (now_ == nullptr) {
    now_ = std::make_unique<Pool>(agents_, options.fitting);
    idle_ = std::make_unique<Pool>(Pool::empty(agents_, options.fitting));
  }
  if (std::exchange(refit_, false)) backlog_->refit(*idle_);
}

Plan PoolState::plan(const Options& options) {
  explained_ = false;
  if (requests_.empty()) return {};
  if (!is_plain(options)) {
    options_ = options;
    backlog_.reset();
    auto plan = make_scheduler(options)->plan(agents_, requests_);
    explain(std::exchange(plan.waiting, {}));
    return plan;
  }
  index(options);
  options_ = options;
  auto plan = plan_shortlist(backlog_->anyone_leaves());
  plan.waiting.clear();
  return plan;
}

Plan PoolState::plan_shortlist(bool room) const {
  const bool preempts = options_.policy == Policy::Priority && options_.preemption;
  const auto list = backlog_->shortlist(*now_, *idle_, requests_, room);
  if (!list.decides && !preempts) return {};
  Draft draft(*now_, Feasibility(*idle_), agents_, list.requests, options_.fitting);
  auto plan = list.offers ? plan_fair_share(std::move(draft), &*list.offers)
                          : plan_by_policy(std::move(draft), options_);
  if (preempts && !room && backlog_->wants_room(plan, list, requests_)) return plan_shortlist(true);
  return plan;
}

void PoolState::explain(std::vector<Plan::Waiting> waiting) const {
  explained_ = true;
  waiting_ = std::move(waiting);
  whys_.assign(requests_.size(), 0);
  first_in_line_.clear();
  for (std::size_t at = 0; at < waiting_.size(); ++at) {
    const auto& [place, why] = waiting_[at];
    whys_[place] = static_cast<std::uint32_t>(at + 1);
    // Mostly there is one line, whose first is known soon.
    if ((special_ == 0 && !first_in_line_.empty()) || why.slots == 0 || !why.in_line()) continue;
    first_in_line_.try_emplace(requests_[place].label, requests_[place].allocation_id);
  }
}

const std::vector<Plan::Waiting>& PoolState::waiting() const {
  if (!explained_) explain(make_scheduler(options_)->plan(agents_, requests_).waiting);
  return waiting_;
}

const Why* PoolState::why(const std::string& id) const {
  const auto& waiting = this->waiting();
  const auto found = places_.find(id);
  if (found == places_.end()) return nullptr;
  const auto at = whys_[found->second];
  return at == 0 ? nullptr : &waiting[at - 1].why;
}

std::string PoolState::first_in_line(const std::string& label) const {
  waiting();
  const auto found = first_in_line_.find(label);
  return found == first_in_line_.end() ? "" : found->second;
}

}  // namespace det::scheduler
