// An agent's shell, simulated: the duties that agent::Reconciler names, and a machine with processes.

#include "world.h"

namespace det::simulation {

constexpr std::int64_t kShimMargin = 500 * kMillisecond;  // the agent, if it lives, comes first
constexpr std::int64_t kGrace = 15 * kSecond;

SimAgent::SimAgent(World& world, std::string id, int slots, agent::OnDisconnect on_disconnect)
    : world_(world), id_(std::move(id)), slots_(slots), on_disconnect_(on_disconnect) {}

void SimAgent::start() {
  if (gone_) return;
  ++incarnation_;
  agent::ReconcilerOptions options{
      .session = fmt::format("{}-{}", id_, incarnation_), .slots = {}, .on_disconnect = on_disconnect_};
  for (int i = 0; i < slots_; ++i) options.slots.insert(i);
  if (world_.mutant == Mutant::AgentForgetsWhatItStarted) memory_.allocations.clear();
  reconciler_ = std::make_unique<agent::Reconciler>(options, memory_);
  remembered_ = reconciler_->memory_revision();
  // Finds its tasks again: those that run, and those that ended meanwhile.
  const auto known = memory_.allocations;
  for (const auto& [id, entry] : known) {
    if (entry.ended()) {
      if (!entry.shipped) ship(id);
      continue;
    }
    bool any = false;
    for (int i = 0; i < entry.ranks; ++i) {
      const auto found = processes_.find({id, entry.rank_start + i});
      if (found == processes_.end()) continue;
      any = true;
      if (found->second->alive) perform(reconciler_->running(id));
    }
    if (!any) perform(reconciler_->not_started(id, world_.now));
    for (const auto& exit : ended_[id]) tell_exit(id, exit);
  }
  send();
  timer();
  if (incarnation_ == 1) watch_lease();
}

void SimAgent::crash() {
  reconciler_.reset();
  forgotten_.clear();
  ++incarnation_;
}

void SimAgent::lose_machine() {
  crash();
  auto processes = processes_;
  for (const auto& [key, process] : processes)
    if (process->alive) {
      process->alive = false;
      ended_[key.first].push_back(
          {.rank = key.second, .code = api::kLostStatus, .signal = 0, .reason = "the machine was lost"});
    }
}

void SimAgent::leave_for_ever() {
  lose_machine();
  gone_ = true;
}

void SimAgent::timer() {
  if (!alive()) return;
  if (const auto due = reconciler_->next_deadline(); due && *due <= world_.now)
    perform(reconciler_->on_time(world_.now));
  if (!forgotten_.empty()) write_memory();
  world_.after(500 * kMillisecond, [this, born = incarnation_] {
    if (born == incarnation_) timer();
  });
}

void SimAgent::renew_lease() {
  if (on_disconnect_ == agent::OnDisconnect::Stop && reconciler_->lease_end())
    lease_ = reconciler_->lease_end();
}

/// What the shims of its tasks do, whether the agent lives or not.
void SimAgent::watch_lease() {
  const auto over = lease_ && world_.now >= *lease_ + kShimMargin;
  if (over && world_.mutant != Mutant::ShimDoesNotWatchLease)
    for (const auto& [key, process] : processes_) {
      if (!process->alive || process->lapsed) continue;
      process->lapsed = true;
      if (world_.chance(0.9))
        world_.after(world_.between(1, 3000) * kMillisecond,
                     [this, process = process] { world_.end_process(process, 143, 15); });
      else
        world_.after(kGrace, [this, process = process] { world_.end_process(process, 137, 9); });
    }
  if (!gone_) world_.after(kShimMargin, [this] { watch_lease(); });
}

void SimAgent::remember() {
  if (reconciler_->memory_revision() == remembered_) return;
  write_memory();
}

void SimAgent::write_memory() {
  remembered_ = reconciler_->memory_revision();
  memory_ = reconciler_->memory();  // synced before anything follows from it
  for (const auto& id : std::exchange(forgotten_, {})) remove(id);
}

void SimAgent::remove(const std::string& id) {
  ended_.erase(id);
  std::erase_if(processes_, [&](const auto& entry) { return entry.first.first == id; });
}

void SimAgent::send() {
  if (!alive()) return;
  auto request = reconciler_->next_request(world_.now, 2000);
  remember();
  reported_ = reconciler_->report_revision();
  request.hostname = id_;
  request.version = "simulated";
  request.resource_pool = "default";
  for (int i = 0; i < slots_; ++i) request.slots.push_back({.id = i});
  const auto born = incarnation_;
  const auto sent = world_.now;
  const auto call = ++calls_;
  const auto next = [this, born, call] {
    if (born == incarnation_ && call == calls_) send();
  };
  world_.send(id_, "master", [this, request, born, sent, next] {
    if (!world_.master->alive()) return;
    world_.master->sync(id_, request, [this, born, sent, next](const api::SyncReply& reply) {
      world_.send("master", id_, [this, born, sent, reply, next] {
        if (born != incarnation_ || !alive()) return;
        auto heard = reply;
        if (world_.mutant == Mutant::NoEpochOrSequenceCheck) {
          // Takes every answer for a new one.
          reconciler_->next_request(world_.now, 0);
          heard.epoch = std::max(heard.epoch, reconciler_->memory().epoch);
          heard.sequence = reconciler_->next_request(world_.now, 0).sequence;
        }
        if (world_.mutant == Mutant::LeaseCountedFromReceipt)
          heard.lease_milliseconds += (world_.now - sent) / kMillisecond;
        const auto actions = reconciler_->on_reply(heard, world_.now);
        renew_lease();
        perform(actions);
        world_.after(world_.between(50, 500) * kMillisecond, next);
      });
    });
  });
  world_.after(3 * kSecond, next);  // no answer in time: ask again
}

void SimAgent::perform(const agent::Actions& actions) {
  remember();
  for (const auto& action : actions) {
    if (const auto* start = std::get_if<agent::Start>(&action)) {
      for (int i = 0; i < start->allocation.ranks(); ++i)
        world_.start_process(id_, start->allocation, start->allocation.rank_start + i);
      perform(reconciler_->running(start->allocation.allocation_id));
    } else if (const auto* terminate = std::get_if<agent::Terminate>(&action)) {
      for (const auto& [key, process] : std::map(processes_))
        if (key.first == terminate->allocation_id && process->alive && world_.chance(0.9))
          world_.after(world_.between(1, 3000) * kMillisecond,
                       [this, process = process] { world_.end_process(process, 143, 15); });
    } else if (const auto* kill = std::get_if<agent::Kill>(&action)) {
      for (const auto& [key, process] : std::map(processes_))
        if (key.first == kill->allocation_id && process->alive) world_.end_process(process, 137, 9);
    } else {
      forgotten_.push_back(std::get<agent::Forget>(action).allocation_id);
      if (world_.mutant == Mutant::AgentDeletesWhatItRemembers) remove(forgotten_.back());
    }
  }
}

void SimAgent::tell_exit(const std::string& allocation, const api::RankExit& exit) {
  perform(reconciler_->exited(allocation, exit, world_.now));
  if (!alive()) return;
  const auto found = reconciler_->memory().allocations.find(allocation);
  if (found == reconciler_->memory().allocations.end() || !found->second.ended()) return;
  ship(allocation);
}

void SimAgent::ship(const std::string& allocation) {
  world_.after(world_.between(1, 300) * kMillisecond, [this, allocation, born = incarnation_] {
    if (born == incarnation_ && alive()) perform(reconciler_->logs_shipped(allocation));
  });
}

void SimAgent::process_ended(const std::shared_ptr<Process>& process, int code, int signal) {
  api::RankExit exit{.rank = process->rank, .code = code, .signal = signal, .reason = ""};
  if (process->lapsed && (code != 0 || signal != 0))  // as the shim says of it: no failure of the task
    exit = {.rank = process->rank, .code = api::kLostStatus, .signal = 0, .reason = "no master answered"};
  ended_[process->allocation].push_back(exit);
  if (alive()) tell_exit(process->allocation, exit);
}

}  // namespace det::simulation
