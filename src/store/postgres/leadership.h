#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "det/base/error.h"
#include "det/store/postgres/postgres.h"

/// Which of several masters writes to a database.
///
/// The leader holds an advisory lock in the session that it writes in, and has an epoch: the number of
/// leaders so far. Every transaction of the leader also writes the row that holds the epoch, and fails where
/// that is no longer its own. So a master that was stopped, or cut off, can commit nothing once another one
/// leads, whatever it believes. Beats tell those who wait that the leader lives.
namespace det::store {

struct LeadershipOptions {
  std::string holder;  ///< how others name this process: "machine, process 123"
  /// Told once, with the sentence to log, when another master leads.
  std::function<void(const std::string&)> on_wait;
  /// Asked many times a second whether to end the wait.
  std::function<bool()> give_up;
};

/// How long the leader's beats must stand still before another takes a lock that is free, so that a leader
/// whose server was restarted comes first; and before it ends the leader's session.
constexpr std::chrono::milliseconds kFreeLockPatience{2'000};
constexpr std::chrono::milliseconds kHeldLockPatience{3'500};
constexpr std::chrono::milliseconds kBeat{500};

/// The tables that leaders use; they are no part of the schema that both databases share.
void make_leadership_tables(PostgresConnection& connection);
/// Waits until this process leads, and gives its epoch. The lock belongs to the session of `connection`.
/// Unavailable where the wait was given up.
Result<std::int64_t> lead(PostgresConnection& connection, const LeadershipOptions& options);
/// Takes the lock again after a new connection, and says which commit of this epoch was the last that is
/// stored. Throws NotLeader where another one leads.
std::int64_t lead_again(PostgresConnection& connection, std::int64_t epoch);
/// The statement that each transaction begins with; see above.
void write_epoch(PostgresConnection& connection, std::int64_t epoch, std::int64_t commit);
/// Others need not wait.
void resign(PostgresConnection& connection, std::int64_t epoch) noexcept;

/// Beats while it lives, in a session of its own, and tells when another one leads.
class Heartbeat {
 public:
  Heartbeat(std::string target, std::int64_t epoch, std::function<void(const std::string&)> on_deposed);
  ~Heartbeat();

 private:
  void run();
  bool beat(PostgresConnection& connection);

  const std::string target_;
  const std::int64_t epoch_;
  const std::function<void(const std::string&)> on_deposed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace det::store
