#include "det/store/sqlite/writer.h"

#include <cstdio>
#include <cstdlib>

#include "det/store/metrics/metric_summary.h"
#include "det/store/purge.h"

namespace det::store {

Writer::Writer(Connection& connection, WriterOptions options)
    : connection_(connection),
      options_(std::move(options)),
      changes_(connection),
      purging_(purge_pending(connection)),
      renewing_(blocks_stale(connection)) {
  connection_.execute(options_.sync_every_commit ? "PRAGMA synchronous = FULL"
                                                 : "PRAGMA synchronous = NORMAL");
  // Replaces SQLite's own checkpoints by a count, upon which checkpoint_if_large acts.
  const auto count_pages = [](void* self, sqlite3*, const char*, int pages) {
    static_cast<Writer*>(self)->wal_pages_ = pages;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(connection_.handle(), count_pages, this);
  thread_ = std::thread([this] { run(); });
}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  room_.notify_all();
  thread_.join();
  sqlite3_wal_hook(connection_.handle(), nullptr, nullptr);
}

void Writer::commit(std::vector<Change> changes, std::function<void()> done) {
  Commit commit{std::move(changes), std::move(done), 0};
  for (const auto& change : commit.changes) commit.bytes += approximate_bytes(change);
  {
    std::unique_lock lock(mutex_);
    // A callback of ours must not wait for ourselves.
    if (std::this_thread::get_id() != thread_.get_id())
      room_.wait(lock, [&] { return queued_bytes_ < options_.queue_bytes_max; });
    queued_bytes_ += commit.bytes;
    ++queued_;
    queue_.push_back(std::move(commit));
  }
  work_.notify_one();
}

void Writer::flush() {
  std::unique_lock lock(mutex_);
  const auto last = queued_;
  idle_.wait(lock, [&] { return acknowledged_ >= last; });
}

bool Writer::overloaded() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ > options_.overloaded_bytes;
}

void Writer::run() {
  try {
    while (true) {
      auto group = next_group();
      if (group.empty()) {
        if (!purging_ && !renewing_) return;  // stopping
        if (!tidy()) return;
      } else {
        const auto apply_all = [&] {
          for (const auto& commit : group)
            for (const auto& change : commit.changes) changes_.apply(change);
        };
        if (!write_until_done(apply_all)) return;
        renewing_ = blocks_stale(connection_);
        acknowledge(group);
      }
      checkpoint_if_large();
    }
  } catch (const std::exception& error) {
    die(error);
  }
}

// What can wait until nobody waits.
bool Writer::tidy() {
  if (purging_) {
    const auto purge = [&] {
      purge_some(connection_);
      purging_ = purge_pending(connection_);
    };
    if (!write_until_done(purge)) return false;
    changes_.forget();
    return true;
  }
  return write_until_done([&] {
    renew_some_blocks(connection_);
    renewing_ = blocks_stale(connection_);
  });
}

// Empty: nothing is queued, but there is something to tidy up, or the end has come.
Writer::Group Writer::next_group() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return !queue_.empty() || stopping_ || purging_ || renewing_; });
  if (queue_.empty() && stopping_) purging_ = renewing_ = false;
  Group group;
  std::size_t bytes = 0;
  while (!queue_.empty() &&
         (group.empty() || bytes + queue_.front().bytes <= options_.transaction_bytes_max)) {
    bytes += queue_.front().bytes;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

bool Writer::write_until_done(const std::function<void()>& work) {
  while (true) {
    try {
      transaction(work);
      if (stalled_ && options_.on_stall)
        options_.on_stall(fmt::format("the disk has space again; {} is being written", options_.name));
      stalled_ = false;
      return true;
    } catch (const SqliteError& error) {
      if (!error.disk_full()) throw;
      roll_back();
      if (!wait_for_space(error)) return false;
    }
  }
}

void Writer::transaction(const std::function<void()>& work) {
  connection_.execute("BEGIN IMMEDIATE");
  work();
  connection_.execute("COMMIT");
}

void Writer::roll_back() {
  if (connection_.in_transaction()) connection_.execute("ROLLBACK");
  changes_.forget();
}

bool Writer::wait_for_space(const SqliteError& error) {
  if (!stalled_ && options_.on_stall)
    options_.on_stall(fmt::format("the disk is full: cannot write {}. Changes wait until there is space ({})",
                                  options_.name, error.what()));
  stalled_ = true;
  std::unique_lock lock(mutex_);
  work_.wait_for(lock, options_.retry_after, [&] { return stopping_; });
  return !stopping_;
}

void Writer::acknowledge(Group& group) {
  for (const auto& tell : changes_.take_refusals()) tell();
  std::size_t bytes = 0;
  for (auto& commit : group) {
    bytes += commit.bytes;
    if (commit.done) commit.done();
  }
  {
    const std::lock_guard lock(mutex_);
    queued_bytes_ -= bytes;
    acknowledged_ += group.size();
    for (const auto& commit : group)
      for (const auto& change : commit.changes)
        purging_ |=
            std::holds_alternative<DeleteExperiment>(*change) || std::holds_alternative<DropLogs>(*change);
  }
  room_.notify_all();
  idle_.notify_all();
}

void Writer::checkpoint_if_large() {
  if (wal_pages_ < checkpointed_pages_) checkpointed_pages_ = 0;  // the log has begun anew
  if (wal_pages_ < checkpointed_pages_ + options_.checkpoint_pages) return;
  // Readers keep a passive checkpoint from starting the log anew. When that has gone
  // on for long, wait for them.
  const int mode =
      wal_pages_ > 16 * options_.checkpoint_pages ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, mode, nullptr, nullptr);
  checkpointed_pages_ = wal_pages_;
  if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY) return;
  const SqliteError error(connection_.handle(), code, "copy the write-ahead log back");
  // The log itself holds all that was acknowledged; the next commit meets the full disk.
  if (!error.disk_full()) throw error;
}

void Writer::die(const std::exception& error) const {
  std::fprintf(stderr,
               "det: %s could not be written: %s\n"
               "det: stopping, because the state of the disk is unknown. Acknowledged changes are safe. "
               "Check the disk, then start again.\n",
               options_.name.c_str(), error.what());
  std::abort();
}

}  // namespace det::store
