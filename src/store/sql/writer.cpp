#include "det/store/sql/writer.h"

#include <cstdio>
#include <cstdlib>

#include "det/store/metrics/metric_summary.h"
#include "det/store/purge.h"

namespace det::store {

Writer::Writer(Transactions& transactions, WriterOptions options)
    : transactions_(transactions),
      connection_(transactions.connection()),
      options_(std::move(options)),
      changes_(connection_),
      purging_(purge_pending(connection_)),
      renewing_(blocks_stale(connection_)),
      shrinking_(transactions.has_space_to_return()) {
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
}

void Writer::commit(std::vector<Change> changes, std::function<void()> done) {
  Commit commit{std::move(changes), std::move(done), 0};
  for (const auto& change : commit.changes) commit.bytes += approximate_bytes(change);
  {
    std::unique_lock lock(mutex_);
    // A callback of ours must not wait for ourselves.
    if (std::this_thread::get_id() != thread_.get_id())
      room_.wait(lock, [&] { return queued_bytes_ < options_.queue_bytes_max || deposed_; });
    queued_bytes_ += commit.bytes;
    ++queued_;
    queue_.push_back(std::move(commit));
  }
  work_.notify_one();
}

void Writer::flush() {
  std::unique_lock lock(mutex_);
  const auto last = queued_;
  idle_.wait(lock, [&] { return acknowledged_ >= last || deposed_; });
}

bool Writer::overloaded() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ > options_.overloaded_bytes;
}

void Writer::depose(const std::string& why) {
  if (deposed_.exchange(true)) return;
  if (!options_.on_deposed) {
    std::fprintf(stderr, "det: %s; stopping, so that there is one leader\n", why.c_str());
    std::_Exit(kDeposedStatus);
  }
  options_.on_deposed(why);
  const std::lock_guard lock(mutex_);
  work_.notify_all();
  room_.notify_all();
  idle_.notify_all();
}

void Writer::run() {
  try {
    while (!deposed_) {
      auto group = next_group();
      if (group.empty()) {
        if (!to_tidy() || deposed_) return;  // stopping
        if (!tidy()) return;
      } else {
        const auto apply_all = [&] {
          for (const auto& commit : group)
            for (const auto& change : commit.changes) changes_.apply(change);
          changes_.finish();
        };
        if (!write_until_done(apply_all)) return;
        renewing_ |= changes_.take_stale();
        acknowledge(group);
      }
      transactions_.housekeeping();
    }
  } catch (const SqlError& error) {
    if (error.kind() != SqlError::Kind::NotLeader) die(error);
    depose(error.what());
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
    shrinking_ = !purging_ && transactions_.has_space_to_return();
    return true;
  }
  if (renewing_)
    return write_until_done([&] {
      renew_some_blocks(connection_);
      renewing_ = blocks_stale(connection_);
    });
  if (!write_until_done([&] { transactions_.return_some_space(); })) return false;
  shrinking_ = transactions_.has_space_to_return();
  return true;
}

// Empty: nothing is queued, but there is something to tidy up, or the end has come.
Writer::Group Writer::next_group() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return !queue_.empty() || stopping_ || deposed_ || to_tidy(); });
  Group group;
  if (deposed_) return group;
  if (queue_.empty() && stopping_) purging_ = renewing_ = shrinking_ = false;
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
  bool again = false;
  while (true) {
    try {
      if (!again || !transactions_.resume()) {
        if (again) changes_.forget();
        transaction(work);
      }
      went_on();
      return true;
    } catch (const SqlError& error) {
      if (!error.passes()) throw;
      transactions_.abandon();
      again = true;
      if (!wait(error)) return false;
    }
  }
}

void Writer::transaction(const std::function<void()>& work) {
  transactions_.begin();
  work();
  transactions_.commit();
}

bool Writer::wait(const SqlError& error) {
  const auto reason = error.disk_full() ? Stall::DiskFull : Stall::Unreachable;
  if (stall_.exchange(reason) != reason && options_.on_stall)
    options_.on_stall(
        error.disk_full()
            ? fmt::format("the disk is full: cannot write {}. Changes wait until there is space ({})",
                          options_.name, error.what())
            : fmt::format("{} cannot be reached. Changes wait until it can ({})", options_.name,
                          error.what()));
  std::unique_lock lock(mutex_);
  work_.wait_for(lock, options_.retry_after, [&] { return stopping_ || deposed_; });
  return !stopping_ && !deposed_;
}

void Writer::went_on() {
  const auto reason = stall_.exchange(Stall::None);
  if (reason == Stall::None || !options_.on_stall) return;
  options_.on_stall(reason == Stall::DiskFull
                        ? fmt::format("the disk has space again; {} is being written", options_.name)
                        : fmt::format("{} can be reached again and is being written", options_.name));
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

void Writer::die(const std::exception& error) const {
  std::fprintf(stderr,
               "det: %s could not be written: %s\n"
               "det: stopping, because the state of the disk is unknown. Acknowledged changes are safe. "
               "Check the disk, then start again.\n",
               options_.name.c_str(), error.what());
  std::abort();
}

}  // namespace det::store
