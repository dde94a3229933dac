#include "det/agent/reconcile.h"

#include <algorithm>
#include <cmath>

namespace det::agent {

namespace {

constexpr std::int64_t kKillAgain = 5 * kSecond;
constexpr std::size_t kSentMax = 256;

std::int64_t microseconds(double seconds) {
  return std::llround(std::clamp(seconds, 0.0, 1e6) * 1e6);
}

api::AllocationState state_of(const Remembered& entry) {
  if (entry.ended() && entry.shipped) return api::AllocationState::exited;
  return entry.running ? api::AllocationState::running : api::AllocationState::starting;
}

}  // namespace

Reconciler::Reconciler(ReconcilerOptions options, Memory memory)
    : options_(std::move(options)), memory_(std::move(memory)) {}

api::SyncRequest Reconciler::next_request(Time now, std::int64_t wait_milliseconds) {
  api::SyncRequest request;
  request.session = options_.session;
  request.sequence = ++sequence_;
  request.known_epoch = memory_.epoch;
  request.known_version = known_version_;
  request.wait_milliseconds = wait_milliseconds;
  for (const auto& [id, entry] : memory_.allocations) {
    auto& report = request.allocations.emplace_back();
    report.allocation_id = id;
    report.state = state_of(entry);
    report.exits = entry.exits;
    report.process_of = entry.process_of;
  }
  sent_[sequence_] = now;
  while (sent_.size() > kSentMax) sent_.erase(sent_.begin());
  return request;
}

Actions Reconciler::on_reply(const api::SyncReply& reply, Time now) {
  dropped_ = Dropped::None;
  if (reply.sequence <= sequence_used_ || reply.sequence > sequence_) {
    dropped_ = Dropped::OldSequence;
    return {};
  }
  if (!memory_.cluster_id.empty() && !reply.cluster_id.empty() && reply.cluster_id != memory_.cluster_id) {
    if (!memory_.allocations.empty()) {
      dropped_ = Dropped::ForeignCluster;
      return {};
    }
    memory_ = Memory{};  // Nothing here is of the old cluster: serve the new one, whatever its epoch.
  }
  if (reply.epoch < memory_.epoch) {
    dropped_ = Dropped::OldEpoch;
    return {};
  }

  if (reply.epoch != memory_.epoch || (memory_.cluster_id.empty() && !reply.cluster_id.empty())) {
    memory_.epoch = reply.epoch;
    if (!reply.cluster_id.empty()) memory_.cluster_id = reply.cluster_id;
    ++memory_revision_;
  }
  lease_end_.reset();
  if (const auto sent = sent_.find(reply.sequence); sent != sent_.end() && reply.lease_milliseconds > 0)
    lease_end_ = sent->second + reply.lease_milliseconds * 1000;
  sent_.erase(sent_.begin(), sent_.upper_bound(reply.sequence));
  sequence_used_ = reply.sequence;
  known_version_ = reply.version;
  desired_ = reply.desired;
  heard_ = true;

  Actions actions;
  std::set<std::string> wanted;
  for (const auto& allocation : desired_) wanted.insert(allocation.allocation_id);
  for (const auto& id : reply.acknowledged) {
    const auto* entry = find(id);
    // While it is still wanted, forgetting it could start it a second time.
    if (entry == nullptr || wanted.contains(id) || state_of(*entry) != api::AllocationState::exited) continue;
    memory_.allocations.erase(id);
    kill_at_.erase(id);
    actions.emplace_back(Forget{id});
  }
  for (auto& action : reconcile(now)) actions.push_back(std::move(action));
  return actions;
}

Actions Reconciler::reconcile(Time now) {
  Actions actions;
  stop_unwanted(now, actions);
  start_wanted(now, actions);
  return actions;
}

void Reconciler::stop_unwanted(Time now, Actions& actions) {
  std::map<std::string, const api::DesiredAllocation*> wanted;
  for (const auto& allocation : desired_) wanted[allocation.allocation_id] = &allocation;
  for (auto& [id, entry] : memory_.allocations) {
    if (entry.ended()) continue;
    const auto found = wanted.find(id);
    if (found != wanted.end() && !found->second->kill) continue;
    if (found != wanted.end() && found->second->grace_seconds < entry.grace_seconds) {
      entry.grace_seconds = std::max(found->second->grace_seconds, 0.0);
      if (const auto at = kill_at_.find(id); at != kill_at_.end())
        at->second = std::min(at->second, now + microseconds(entry.grace_seconds));
    }
    stop(id, entry, now, actions);
  }
}

void Reconciler::stop(const std::string& id, const Remembered& entry, Time now, Actions& actions) {
  if (kill_at_.contains(id)) return;
  kill_at_[id] = now + microseconds(entry.grace_seconds);
  actions.emplace_back(Terminate{id});
}

void Reconciler::start_wanted(Time now, Actions& actions) {
  if (!heard_) return;
  const bool lapsed = lease_end_ && now >= *lease_end_;
  for (const auto& wanted : desired_) {
    const auto& id = wanted.allocation_id;
    if (!api::is_name(id) || memory_.allocations.contains(id)) continue;
    // The master waits for the end of what it thinks may run here.
    if (wanted.kill) {
      remember_ended(wanted, 143, 15, "stopped before it started");
      continue;
    }
    if (const auto error = api::problem(wanted)) {
      remember_ended(wanted, 1, 0, error->message());
      continue;
    }
    if (const auto reason = missing_slot(wanted); !reason.empty()) {
      remember_ended(wanted, api::kLostStatus, 0, reason);  // The trial can do nothing for it.
      continue;
    }
    if (lapsed || !slots_free(wanted))
      continue;  // Tried again with the next reply, or when a slot gets free.
    Remembered entry;
    entry.rank_start = wanted.rank_start;
    entry.ranks = wanted.ranks();
    entry.slot_ids = wanted.slot_ids;
    entry.grace_seconds = wanted.grace_seconds;
    memory_.allocations.emplace(id, std::move(entry));
    ++memory_revision_;
    ++report_revision_;
    actions.emplace_back(Start{wanted});
  }
}

std::string Reconciler::missing_slot(const api::DesiredAllocation& wanted) const {
  for (const auto slot : wanted.slot_ids)
    if (!options_.slots.contains(slot)) return fmt::format("slot {} does not exist on this agent", slot);
  return {};
}

bool Reconciler::slots_free(const api::DesiredAllocation& wanted) const {
  for (const auto& [id, entry] : memory_.allocations) {
    if (entry.ended()) continue;
    for (const auto slot : entry.slot_ids)
      if (std::ranges::find(wanted.slot_ids, slot) != wanted.slot_ids.end()) return false;
  }
  return true;
}

void Reconciler::remember_ended(const api::DesiredAllocation& wanted, int code, int signal,
                                const std::string& reason) {
  Remembered entry;
  entry.rank_start = std::clamp(wanted.rank_start, 0, 1'000'000);  // It may be what is wrong.
  entry.ranks = wanted.ranks();
  entry.shipped = true;
  for (int i = 0; i < entry.ranks; ++i) {
    auto& exit = entry.exits.emplace_back();
    exit.rank = entry.rank_start + i;
    exit.code = code;
    exit.signal = signal;
    exit.reason = reason;
  }
  memory_.allocations.emplace(wanted.allocation_id, std::move(entry));
  ++memory_revision_;
  ++report_revision_;
}

Remembered* Reconciler::find(const std::string& id) {
  const auto it = memory_.allocations.find(id);
  return it == memory_.allocations.end() ? nullptr : &it->second;
}

Actions Reconciler::running(const std::string& id, const std::string& process_of) {
  auto* entry = find(id);
  if (entry == nullptr || entry->running) return {};
  entry->process_of = process_of;
  entry->running = true;  // After a crash, the files of its ranks say so.
  ++report_revision_;
  return {};
}

Actions Reconciler::exited(const std::string& id, const api::RankExit& exit, Time now) {
  auto* entry = find(id);
  if (entry == nullptr || exit.rank < entry->rank_start || exit.rank >= entry->rank_start + entry->ranks)
    return {};
  const auto at = std::ranges::lower_bound(entry->exits, exit.rank, {}, &api::RankExit::rank);
  if (at != entry->exits.end() && at->rank == exit.rank) return {};  // The first word counts.
  auto said = exit;
  if (entry->lapsed && (exit.code != 0 || exit.signal != 0))
    said = {.rank = exit.rank,
            .code = api::kLostStatus,
            .signal = 0,
            .reason = "stopped because the agent could not reach the master"};
  entry->exits.insert(at,
                      said);  // After a crash it is told again: exit.json is there until it is acknowledged.
  // That it ended well, the master takes with the last of the logs.
  if (said.code != 0 || said.signal != 0 || state_of(*entry) == api::AllocationState::exited)
    ++report_revision_;
  if (!entry->ended()) return {};
  kill_at_.erase(id);
  Actions actions;
  start_wanted(now, actions);
  return actions;
}

Actions Reconciler::logs_shipped(const std::string& id) {
  auto* entry = find(id);
  if (entry == nullptr || entry->shipped || !entry->ended()) return {};
  entry->shipped = true;  // After a crash it is said again: no line is stored twice.
  ++report_revision_;
  return {};
}

Actions Reconciler::not_started(const std::string& id, Time now) {
  const auto* entry = find(id);
  if (entry == nullptr || entry->running || !entry->exits.empty()) return {};
  memory_.allocations.erase(id);
  kill_at_.erase(id);
  ++memory_revision_;
  ++report_revision_;
  Actions actions;
  start_wanted(now, actions);
  return actions;
}

Actions Reconciler::on_time(Time now) {
  Actions actions;
  if (options_.on_disconnect == OnDisconnect::Stop && lease_end_ && now >= *lease_end_) {
    for (auto& [id, entry] : memory_.allocations) {
      if (entry.ended()) continue;
      if (!kill_at_.contains(id) && !entry.lapsed) {
        entry.lapsed = true;
        ++memory_revision_;
      }
      stop(id, entry, now, actions);
    }
    // What the lapsed lease allowed is void: nothing of it is started any more.
    desired_.clear();
    known_version_ = 0;
  }
  for (auto& [id, at] : kill_at_) {
    if (now < at) continue;
    at = now + kKillAgain;
    actions.emplace_back(Kill{id});
  }
  return actions;
}

std::optional<Time> Reconciler::next_deadline() const {
  std::optional<Time> next;
  const auto consider = [&](Time time) {
    if (!next || time < *next) next = time;
  };
  for (const auto& [id, at] : kill_at_) consider(at);
  if (options_.on_disconnect == OnDisconnect::Stop && lease_end_) {
    const auto live = std::ranges::any_of(memory_.allocations, [&](const auto& item) {
      return !item.second.ended() && !kill_at_.contains(item.first);
    });
    if (live || !desired_.empty()) consider(*lease_end_);
  }
  return next;
}

}  // namespace det::agent
