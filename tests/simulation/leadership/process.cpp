#include <fmt/format.h>

#include <utility>

#include "world.h"

namespace det::simulation::leadership {

namespace {
constexpr Milliseconds kLook = 100, kRetry = 500, kSupervisor = 1'000;
}  // namespace

bool Process::is_cut() const {
  return world_.now < cut_until_;
}

void Process::kill(Milliseconds down) {
  if (state_ == State::Down) return;
  world_.note(fmt::format("process {} ends", number_));
  forget_session();
  state_ = State::Down;
  successor_.reset();
  group_.clear();
  under_way_ = false;
  frozen_until_ = 0;
  up_at_ = world_.now + down;
}

/// Nothing arrives any more, on either side; both notice in the end.
void Process::cut(Milliseconds until) {
  if (state_ == State::Down || is_cut()) return;
  world_.note(fmt::format("process {} is cut off", number_));
  cut_until_ = until;
  if (!session_) return;
  auto& session = world_.sessions.at(*session_);
  if (session.client_gone) return;
  while (!session.statements.empty() && session.statements.back().arrives > world_.now)
    session.statements.pop_back();
  session.answers.clear();
  session.client_gone = true;
  session.ends_at = world_.now + world_.between(1'000, 8'000);
  session.answers.push_back({.kind = Answer::Kind::Lost, .arrives = world_.now + world_.between(10, 5'000)});
}

/// What was sent is still read.
void Process::forget_session() {
  if (!session_) return;
  auto& session = world_.sessions.at(*session_);
  if (!session.client_gone) session.ends_at = world_.now + world_.between(1, 50);
  session.client_gone = session.forgotten = true;
  if (session.ended) world_.sessions.erase(*session_);
  session_.reset();
}

void Process::connect() {
  if (!world_.up() || is_cut()) {
    next_ = world_.now + kRetry;
    return;
  }
  session_ = world_.next_session++;
  world_.sessions[*session_];
}

void Process::send(Statement::Kind kind) {
  Statement statement{.kind = kind};
  if (kind == Statement::Kind::Write) {
    statement.epoch = epoch_;
    statement.number = commit_;
    statement.stored = stored_;
    statement.view = view_;
    statement.values = group_;
  }
  auto& session = world_.sessions.at(*session_);
  const auto before = session.statements.empty() ? world_.now : session.statements.back().arrives;
  statement.arrives = std::max(before, world_.now + world_.between(1, 30));
  if (!session.client_gone) session.statements.push_back(std::move(statement));
}

void Process::write_again() {
  ++commit_;
  under_way_ = true;
  send(Statement::Kind::Write);
}

void Process::write() {
  group_.clear();
  for (auto count = world_.between(1, 3); count > 0; --count) group_.push_back(world_.next_value++);
  write_again();
}

void Process::acknowledge() {
  world_.acknowledged.insert(group_.begin(), group_.end());
  world_.last_acknowledgement = world_.now;
  view_ += group_.size();
  group_.clear();
  under_way_ = false;
  next_ = world_.now + world_.between(1, 200);
}

/// As the loop of store::lead.
void Process::look() {
  next_ = world_.now + kLook;
  send(Statement::Kind::ReadBeats);
}

void Process::lost() {
  forget_session();
  next_ = world_.now + kRetry;
  if (state_ == State::Leads || state_ == State::Resumes) {
    state_ = State::Resumes;
    return;
  }
  if (successor_) successor_->cut_off(world_.clock());
  state_ = successor_ ? State::Waits : State::First;
}

void Process::resume(const Answer& answer) {
  if (answer.to == Statement::Kind::TryLock) locked_ = answer.locked;
  if (answer.to == Statement::Kind::ReadRow) row_ = answer;
  const bool reads_first = world_.mutant == Mutant::ReadsBeforeLocking;
  if (answer.to == (reads_first ? Statement::Kind::TryLock : Statement::Kind::ReadRow) && row_) {
    const auto stored = world_.mutant == Mutant::KeepsLeading ? epoch_ : row_->epoch;
    switch (store::resumption(locked_, epoch_, stored)) {
      case store::Resumption::Deposed: return kill(kSupervisor);
      case store::Resumption::Waits: return lost();
      case store::Resumption::Leads: break;
    }
    state_ = State::Leads;
    const auto before = std::exchange(stored_, row_->number);
    if (!under_way_) return;
    const bool is_stored = stored_ > before && world_.mutant != Mutant::RepeatsWithoutAsking;
    return is_stored ? acknowledge() : write_again();
  }
  send(answer.to == Statement::Kind::TryLock ? Statement::Kind::ReadRow : Statement::Kind::TryLock);
}

void Process::heard(const Answer& answer) {
  if (answer.kind == Answer::Kind::Lost) return lost();
  if (answer.kind == Answer::Kind::NotLeader) return kill(kSupervisor);
  const auto begin = [&] {
    state_ = State::Begins;
    send(Statement::Kind::BeginEpoch);
  };
  switch (state_) {
    case State::First:
      if (answer.to == Statement::Kind::ReadBeats) {
        successor_.emplace(answer.beats, world_.clock());
        return send(Statement::Kind::TryLock);
      }
      if (answer.locked) return begin();
      state_ = State::Waits;
      next_ = world_.now + kLook;
      return;
    case State::Waits:
      if (answer.to == Statement::Kind::ReadBeats) {
        successor_->saw(answer.beats, world_.clock());
        if (successor_->may_take_lock(world_.clock())) send(Statement::Kind::TryLock);
      } else if (answer.to == Statement::Kind::TryLock) {
        if (answer.locked) return begin();
        if (successor_->may_end_holder(world_.clock())) send(Statement::Kind::EndHolder);
      }
      return;
    case State::Begins:
      if (answer.to != Statement::Kind::BeginEpoch) return;
      epoch_ = answer.epoch;
      commit_ = stored_ = 0;
      view_ = answer.log_size;
      under_way_ = false;
      state_ = State::Leads;
      next_ = next_beat_ = world_.now;
      return;
    case State::Leads:
      if (answer.to != Statement::Kind::Write) return;
      stored_ = commit_;
      acknowledge();
      return;
    case State::Resumes: return resume(answer);
    case State::Down: return;
  }
}

/// In a session of its own, which is connected when it can be.
void Process::beat() {
  next_beat_ = world_.now + store::kBeat.count();
  if (!world_.up() || is_cut()) return;
  if (world_.beats.epoch == epoch_)
    ++world_.beats.beats;
  else if (world_.mutant != Mutant::KeepsLeading && world_.mutant != Mutant::NoFence)
    kill(kSupervisor);
}

void Process::step() {
  if (world_.now < frozen_until_) return;
  if (state_ == State::Down) {
    if (world_.now < up_at_) return;
    state_ = State::First;
    next_ = 0;
  }
  if (session_) {
    auto& answers = world_.sessions.at(*session_).answers;
    if (!answers.empty() && answers.front().arrives <= world_.now) {
      const auto answer = answers.front();
      answers.pop_front();
      heard(answer);
    }
  }
  if ((state_ == State::Leads || state_ == State::Resumes) && world_.now >= next_beat_) beat();
  if (state_ == State::Down || world_.now < next_) return;
  if (!session_) {
    connect();
    if (!session_) return;
    if (state_ == State::First) send(Statement::Kind::ReadBeats);
    if (state_ == State::Resumes) {
      row_.reset();
      send(world_.mutant == Mutant::ReadsBeforeLocking ? Statement::Kind::ReadRow : Statement::Kind::TryLock);
    }
  }
  const auto& session = world_.sessions.at(*session_);
  if (state_ == State::Waits && session.statements.empty() && session.answers.empty()) look();
  if (state_ == State::Leads && !under_way_) write();
}

}  // namespace det::simulation::leadership
