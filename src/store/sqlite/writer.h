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

namespace det::store {

struct WriterOptions {
  std::string name = "database";                     ///< as messages call it
  std::function<void(const std::string&)> on_stall;  ///< see SqliteOptions
  bool sync_every_commit = true;                     ///< false only to measure what it costs
  bool reserve_log = true;                           ///< false only to measure what it gains
  std::size_t transaction_bytes_max = 32 << 20;      ///< so that an acknowledgement does not wait for ever
  std::size_t overloaded_bytes = 64 << 20;
  std::size_t queue_bytes_max = 1 << 30;
  int checkpoint_pages = 4096;  ///< the write-ahead log is copied back whenever it has grown by this
  std::chrono::milliseconds retry_after{500};  ///< a full disk
};

/// The thread that makes all changes: takes what is queued, writes it in one
/// transaction, and calls back; meanwhile the next group gathers. It also copies the
/// write-ahead log back, so that no other connection ever writes to the database file.
class Writer {
 public:
  /// The connection must not be used by others while the writer lives.
  Writer(Connection& connection, WriterOptions options);
  /// Finishes what is queued, but does not wait for a full disk.
  ~Writer();

  void commit(std::vector<Change> changes, std::function<void()> done);
  void flush();
  bool overloaded() const;
  bool stalled() const { return stalled_; }  ///< a full disk

 private:
  struct Commit {
    std::vector<Change> changes;
    std::function<void()> done;
    std::size_t bytes = 0;
  };
  using Group = std::vector<Commit>;

  void run();
  Group next_group();
  bool tidy();
  bool write_until_done(const std::function<void()>& work);
  void transaction(const std::function<void()>& work);
  void roll_back();
  bool wait_for_space(const SqliteError& error);
  void acknowledge(Group& group);
  void checkpoint_if_large();
  [[noreturn]] void die(const std::exception& error) const;

  Connection& connection_;
  const WriterOptions options_;
  ChangeWriter changes_;
  std::atomic<bool> stalled_ = false;
  int wal_pages_ = 0;
  int checkpointed_pages_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable work_, room_, idle_;
  std::deque<Commit> queue_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t queued_ = 0, acknowledged_ = 0;  // counts of commits
  bool purging_ = false;
  bool renewing_ = false;  // of the writing thread alone: some block of metrics is stale
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace det::store
