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
#include "det/store/postgres/succession.h"

/// Which of several masters writes to a database.
///
/// The leader holds an advisory lock in the session that it writes in, and has an epoch: the number of
/// leaders so far. Every transaction of the leader also writes the row that holds the epoch, and fails where
/// that is no longer its own. So a master that was stopped, or cut off, can commit nothing once another one
/// leads, whatever it believes. Beats tell those who wait that the leader lives.
namespace det::store {

struct LeadershipOptions {
  std::string holder;     ///< how others name this process: "machine, process 123"
  std::string address{};  ///< where clients reach it; those that wait are told
  /// Told once, with the sentence to log, when another master leads.
  std::function<void(const std::string&)> on_wait{};
  /// Told then, and at each change, the address of the leader.
  std::function<void(const std::string&)> on_leader{};
  /// Asked many times a second whether to end the wait.
  std::function<bool()> give_up{};
};

/// A `give_up` for programs that fill a database which no master may use: it lets a leader that has just gone
/// be noticed, and no more.
std::function<bool()> once_another_leads();

/// The tables that leaders use; they are no part of the schema that both databases share.
void make_leadership_tables(PostgresConnection& connection);
/// Waits until this process leads, and gives its epoch. The lock belongs to the session of `connection`.
/// Unavailable where the wait was given up.
Result<std::int64_t> lead(PostgresConnection& connection, const LeadershipOptions& options);
/// Takes the lock again after a new connection, and says which commit of this epoch was the last that is
/// stored. Throws NotLeader where another one leads.
std::int64_t lead_again(PostgresConnection& connection, std::int64_t epoch);
/// The statement that each transaction begins with; see above. `stored` is the commit of this epoch that its
/// leader knows to be the last: a transaction whose leader is mistaken there fails as well.
void write_epoch(PostgresConnection& connection, std::int64_t epoch, std::int64_t stored,
                 std::int64_t commit);
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
