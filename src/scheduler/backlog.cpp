#include "det/scheduler/backlog.h"

#include <algorithm>
#include <limits>

namespace det::scheduler {

namespace {

constexpr auto kAll = std::numeric_limits<std::size_t>::max();

}  // namespace

Backlog::Backlog(const Options& options)
    : options_(options),
      by_group_(options.policy == Policy::RoundRobin || options.policy == Policy::FairShare),
      preempts_(options.policy == Policy::Priority && options.preemption) {}

void Backlog::add(const Request& request, std::size_t place) {
  const auto [named, _] = groups_.try_emplace(request.group);
  auto& group = named->second;
  group.name = named->first;
  ++group.size;
  const auto [found, is_new] = entries_.try_emplace(request.allocation_id);
  found->second = {.id = found->first,
                   .priority = options_.policy == Policy::Priority ? request.priority : 0,
                   .position = position(request),
                   .submitted = request.submitted,
                   .requested = request.requested,
                   .place = place,
                   .slots = request.slots,
                   .running = request.running,
                   .releasing = request.releasing || (preempts_ && request.asked),
                   .preemptible = request.preemptible,
                   .group = &group};
  request.running ? run(request, found->second) : wait(request, found->second);
  change(group);
}

void Backlog::run(const Request& request, Entry& entry) {
  entry.group->used += request.slots;
  if (options_.policy == Policy::FairShare && request.slots != 0) entry.group->running.insert(&entry);
  if (!preempts_) return;
  running_.insert(&entry);
  if (entry.releasing)
    ++leaving_;
  else if (request.preemptible && !request.held.empty())
    may_give_way_.insert(&entry);
}

void Backlog::wait(const Request& request, Entry& entry) {
  const auto [shaped, is_shape] =
      shapes_.try_emplace({request.slots, request.single_agent, request.attributes, request.blocked_agents});
  auto& shape = shaped->second;
  if (is_shape) {
    shape.like = request;
    shape.like.slots_max.reset();
  }
  const bool limited = request.slots_max && request.slots != 0;
  auto* const group = request.slots != 0 && (by_group_ || limited) ? entry.group : nullptr;
  const auto [lined, is_line] =
      lines_.try_emplace({&shape, request.preemptible, group, limited ? request.slots_max : std::nullopt});
  auto& line = lined->second;
  if (is_line) {
    line.key = lined->first;
    line.shape = &shape;
    line.group = group;
    if (limited) line.slots_max = request.slots_max;
    ++shape.lines;
    if (group != nullptr) group->lines.insert(&line);
    if (limited && ++group->limited == 1) limited_.insert(group);
  }
  line.entries.insert(&entry);
  entry.line = &line;
}

void Backlog::remove(const std::string& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  auto& entry = found->second;
  auto& group = *entry.group;
  change(group);
  if (entry.line != nullptr) {
    leave_line(entry);
  } else {
    group.used -= entry.slots;
    group.running.erase(&entry);
    running_.erase(&entry);
    may_give_way_.erase(&entry);
    if (preempts_ && entry.releasing) --leaving_;
  }
  if (--group.size == 0) {
    changed_.erase(&group);
    groups_.erase(groups_.find(std::string(group.name)));
  }
  entries_.erase(found);
}

void Backlog::leave_line(const Entry& entry) {
  auto& line = *entry.line;
  line.entries.erase(&entry);
  if (!line.entries.empty()) return;
  if (line.group != nullptr) {
    line.group->lines.erase(&line);
    if (line.slots_max && --line.group->limited == 0) limited_.erase(line.group);
  }
  auto& shape = *line.shape;
  lines_.erase(lines_.find(line.key));
  if (--shape.lines > 0) return;
  const auto& like = shape.like;
  shapes_.erase(shapes_.find(ShapeKey{like.slots, like.single_agent, like.attributes, like.blocked_agents}));
}

void Backlog::change(Group& group) {
  if (!by_group_) return;
  if (group.head != nullptr) group.head->headed.erase(group.turn);
  group.head = nullptr;
  if (group.claims) by_age_.erase({group.claim.age.first, group.claim.age.second, group.name});
  group.claims = false;
  changed_.insert(&group);
}

void Backlog::refit(const Pool& idle) {
  bool any = false;
  for (auto& [_, shape] : shapes_) {
    if (!shape.never) continue;
    const auto before = std::exchange(shape.never, std::nullopt);
    any = is_never(shape, idle) != *before || any;
  }
  if (!any) return;
  for (auto& [_, group] : groups_) change(group);
}

bool Backlog::is_never(Shape& shape, const Pool& idle) {
  if (!shape.never) shape.never = !idle.fits(Queued(shape.like));
  return *shape.never;
}

bool Backlog::asks(const Line& line, const Pool& idle) {
  return !is_never(*line.shape, idle) && (!line.slots_max || line.shape->like.slots <= *line.slots_max);
}

void Backlog::refresh(const Pool& idle, std::span<const Request> requests) {
  for (auto* group : changed_)
    options_.policy == Policy::RoundRobin ? refresh_turn(*group, idle)
                                          : refresh_claim(*group, idle, requests);
  changed_.clear();
}

void Backlog::refresh_turn(Group& group, const Pool& idle) {
  const Entry *first = nullptr, *head = nullptr;
  for (const auto* line : group.lines) {
    const auto* entry = *line->entries.begin();
    if (first == nullptr || Before()(entry, first)) first = entry;
    if (!is_never(*line->shape, idle) && (head == nullptr || Before()(entry, head))) head = entry;
  }
  if (head == nullptr || group.limited > 0) return;
  group.turn = {.used = group.used, .position = first->position, .name = group.name};
  group.head = head->line->shape;
  group.head->headed.emplace(group.turn, &group);
}

void Backlog::refresh_claim(Group& group, const Pool& idle, std::span<const Request> requests) {
  auto& claim = group.claim = {.group = group.name};
  group.staying = 0;
  group.fewest = std::numeric_limits<std::int64_t>::max();
  const Entry* waiting = nullptr;
  for (const auto* line : group.lines) {
    if (!asks(*line, idle)) continue;
    const auto* entry = *line->entries.begin();
    if (waiting == nullptr || Before()(entry, waiting)) waiting = entry;
    claim.demand += std::int64_t{entry->slots} * static_cast<std::int64_t>(line->entries.size());
    group.fewest = std::min<std::int64_t>(group.fewest, entry->slots);
  }
  claim.smallest = group.fewest;
  for (const auto* entry : group.running) {
    claim.demand += entry->slots;
    if (!entry->releasing) group.staying += entry->slots;
    if (entry->preemptible)
      claim.smallest = std::min<std::int64_t>(claim.smallest, entry->slots);
    else
      claim.held += entry->slots;
  }
  const auto* first = group.running.empty() ? waiting : *group.running.begin();
  if (first == nullptr) return;
  const auto age = [](const Entry* entry) {
    return std::pair(entry->position, entry->submitted.microseconds);
  };
  claim.age = age(first);
  if (waiting != nullptr) claim.age = std::min(claim.age, age(waiting));
  claim.weight = requests[first->place].weight;
  if (const auto& limit = requests[first->place].slots_max) claim.demand_max = *limit;
  claim.demand = std::max(std::min(claim.demand, claim.demand_max), claim.held);
  group.claims = true;
  by_age_.emplace(std::tuple(claim.age.first, claim.age.second, group.name), &group);
}

/// Collects the requests that a plan needs.
class Backlog::Choice {
 public:
  Choice(const Pool& now, const Pool& idle, std::span<const Request> requests, bool room)
      : now(now), idle(idle), requests(requests), room_(room) {}

  /// How many requests of this shape can start now, or have room made for them, at most.
  std::size_t most(const Line& line) const {
    // A request that its group's limit keeps waiting holds back those of other sizes.
    if (line.group != nullptr && line.group->limited > 1) return kAll;
    return most(*line.shape);
  }
  std::size_t most(const Shape& shape) const {
    const auto slots = shape.like.slots;
    if (!room_ && !now.fits(Queued(shape.like))) return 0;
    return slots == 0 ? kAll : static_cast<std::size_t>((room_ ? now.slots() : now.free_slots()) / slots);
  }

  /// As many of the line as may start, and one that waits then.
  void take(const Line& line, std::size_t most) {
    decides = decides || most > 0;
    for (auto entry = line.entries.begin(); entry != line.entries.end(); ++entry) {
      take(**entry);
      if (most-- == 0) break;
    }
    if (line.group != nullptr) groups.insert(line.group);
  }
  void take(const Entry& entry) { chosen.push_back(requests[entry.place]); }

  /// Stands for all that runs of the group.
  void take_used(const Group& group) {
    if (group.used == 0) return;
    Request all{.group = std::string(group.name), .slots = static_cast<int>(group.used), .running = true};
    chosen.push_back(std::move(all));
  }

  const Pool &now, &idle;
  bool decides = false;  ///< something may start, or give way
  std::span<const Request> requests;
  std::vector<Request> chosen{};
  std::set<const Group*> groups{};  ///< whose lines are among them

 private:
  bool room_;  ///< somebody may give way, or does so
};

bool Backlog::wants_room(const Plan& plan, const Shortlist& list, std::span<const Request> requests) const {
  if (may_give_way_.empty()) return false;
  const auto& least_important = requests[(*may_give_way_.rbegin())->place];
  return std::ranges::any_of(plan.waiting, [&](const Plan::Waiting& waiting) {
    const bool may_get_room = waiting.why.in_line() || waiting.why.reason == Why::Reason::AgentsFull;
    return may_get_room && job_before(list.requests[waiting.request], least_important);
  });
}

void Backlog::choose_lines(Choice& choice) const {
  for (const auto& [_, line] : lines_)
    if ((line.group == nullptr || !by_group_) && !is_never(*line.shape, choice.idle))
      choice.take(line, choice.most(line));
}

void Backlog::choose_by_turns(Choice& choice) const {
  std::set<const Group*> chosen(limited_.begin(), limited_.end());  // may be passed over, and take no turn
  for (const auto& [_, shape] : shapes_) {
    if (shape.headed.empty()) continue;
    auto most = choice.most(shape);
    for (const auto& [turn, group] : shape.headed) {
      chosen.insert(group);
      if (most-- == 0) break;
    }
  }
  for (const auto* group : chosen)
    for (const auto* line : group->lines)
      choice.take(*line, is_never(*line->shape, choice.idle) ? 0 : choice.most(*line));
}

Offers Backlog::choose_by_shares(Choice& choice) const {
  std::vector<Claim*> claims;
  claims.reserve(by_age_.size());
  for (const auto& [_, group] : by_age_) claims.push_back(&group->claim);
  share_out(choice.now.slots() + choice.now.slots_leaving(), claims);
  Offers offers;
  for (const auto& [_, group] : by_age_) {
    const auto budget = group->claim.offered - group->used;
    const bool gives_way = group->staying > group->claim.offered, starts = group->fewest <= budget;
    if (!gives_way && !starts) continue;
    offers.emplace(group->name, group->claim.offered);
    if (gives_way) {
      choice.decides = true;
      for (const auto* entry : group->running) choice.take(*entry);
    } else if (!group->running.empty()) {
      // One that stands for all; its place in the queue counts.
      choice.take(**group->running.begin());
      auto& all = choice.chosen.back();
      all.slots = static_cast<int>(group->used);
      all.preemptible = all.releasing = false;
    }
    for (const auto* line : group->lines)
      if (asks(*line, choice.idle))
        choice.take(*line, std::min(choice.most(*line->shape),
                                    static_cast<std::size_t>(std::max<std::int64_t>(0, budget)) /
                                        static_cast<std::size_t>(line->shape->like.slots)));
  }
  return offers;
}

Shortlist Backlog::shortlist(const Pool& now, const Pool& idle, std::span<const Request> requests,
                             bool room) {
  refresh(idle, requests);
  Choice choice(now, idle, requests, room);
  Shortlist list;
  choose_lines(choice);
  if (options_.policy == Policy::RoundRobin) choose_by_turns(choice);
  if (options_.policy == Policy::FairShare) {
    list.offers = choose_by_shares(choice);
  } else if (room) {
    for (const auto* entry : running_) choice.take(*entry);
  } else {
    for (const auto* group : choice.groups) choice.take_used(*group);
  }
  list.decides = choice.decides;
  list.requests = std::move(choice.chosen);
  return list;
}

}  // namespace det::scheduler
