#pragma once

#include <chrono>
#include <cstdint>
#include <string>

/// How masters that share a database follow one another: the decisions, without a database and a clock.
/// leadership.h carries them out, and tests/simulation does so in a simulated world.
namespace det::store {

/// Times of one process's steady clock. Processes never compare theirs.
using SteadyTime = std::chrono::steady_clock::time_point;

/// How long the leader's beats must stand still before another takes a lock that is free, so that a leader
/// whose server was restarted comes first; and before it ends the leader's session.
constexpr std::chrono::milliseconds kFreeLockPatience{2'000};
constexpr std::chrono::milliseconds kHeldLockPatience{3'500};
constexpr std::chrono::milliseconds kBeat{500};

/// What those that wait see of the leader.
struct Beats {
  std::int64_t epoch = 0, beats = 0;
  bool resigned = true;
  std::string holder{}, address{};
  friend bool operator==(const Beats&, const Beats&) = default;
};

/// A master that stands by.
class Successor {
 public:
  Successor(Beats seen, SteadyTime now) : seen_(std::move(seen)), since_(now) {}

  /// What the database shows now. True: something has changed since.
  bool saw(const Beats& now_seen, SteadyTime now);
  /// The database could not be asked: the leader has not got it either.
  void cut_off(SteadyTime now) { since_ = now; }
  bool may_take_lock(SteadyTime now) const { return seen_.resigned || now - since_ > kFreeLockPatience; }
  bool may_end_holder(SteadyTime now) const { return now - since_ > kHeldLockPatience; }
  const Beats& seen() const { return seen_; }

 private:
  Beats seen_;
  SteadyTime since_;
};

/// What a leader does after its session was lost. It asks for the lock first and reads the row of the epoch
/// then: a commit of its former session, which may still go on, is over once the lock is free.
enum class Resumption {
  Leads,   ///< the row tells which of its commits is stored
  Waits,   ///< the former session goes on, or another master begins to lead
  Deposed  ///< another one has led meanwhile
};
Resumption resumption(bool has_lock, std::int64_t own_epoch, std::int64_t stored_epoch);

}  // namespace det::store
