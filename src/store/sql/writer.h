#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "det/store/changes.h"
#include "det/store/sql/transactions.h"

namespace det::store {

struct WriterOptions {
  std::string name = "database";  ///< as messages call it
  /// Told when commits begin to wait for the disk or the server, and when they go on.
  std::function<void(const std::string&)> on_stall;
  /// Told when another master has taken over; nothing is written or acknowledged any more. None: the process
  /// ends.
  std::function<void(const std::string&)> on_deposed;
  std::size_t transaction_bytes_max = 32 << 20;  ///< so that an acknowledgement does not wait for ever
  std::size_t overloaded_bytes = 64 << 20;
  std::size_t queue_bytes_max = 1 << 30;
  std::chrono::milliseconds retry_after{500};  ///< a full disk, a lost connection
};

/// The exit status of a master that another one has replaced: its supervisor starts it again, to stand by.
constexpr int kDeposedStatus = 75;

/// The thread that makes all changes: takes what is queued, writes it in one
/// transaction, and calls back; meanwhile the next group gathers.
class Writer {
 public:
  enum class Stall { None, DiskFull, Unreachable };

  /// The transactions, and their connection, are the writer's alone while it lives.
  Writer(Transactions& transactions, WriterOptions options);
  /// Finishes what is queued, but does not wait for a full disk or a server.
  ~Writer();

  void commit(std::vector<Change> changes, std::function<void()> done);
  void flush();
  bool overloaded() const;
  Stall stall() const { return stall_; }  ///< what commits wait for
  /// Why another master writes; to be called when that is known from elsewhere.
  void depose(const std::string& why);

 private:
  struct Commit {
    std::vector<Change> changes;
    std::function<void()> done;
    std::size_t bytes = 0;
  };
  using Group = std::vector<Commit>;

  void run();
  Group next_group();
  bool to_tidy() const { return purging_ || renewing_ || shrinking_; }
  bool tidy();
  bool write_until_done(const std::function<void()>& work);
  void transaction(const std::function<void()>& work);
  bool wait(const SqlError& error);
  void went_on();
  void acknowledge(Group& group);
  [[noreturn]] void die(const std::exception& error) const;

  Transactions& transactions_;
  Connection& connection_;
  const WriterOptions options_;
  ChangeWriter changes_;
  std::atomic<Stall> stall_ = Stall::None;
  std::atomic<bool> deposed_ = false;

  mutable std::mutex mutex_;
  std::condition_variable work_, room_, idle_;
  std::deque<Commit> queue_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t queued_ = 0, acknowledged_ = 0;  // counts of commits
  bool purging_ = false;
  bool renewing_ = false;   // of the writing thread alone: some block of metrics is stale
  bool shrinking_ = false;  // of the writing thread alone: the database has space to return
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace det::store
