#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace det::store {

/// Lends connections of one kind, a few at a time. Whoever finds all of them lent waits.
///
/// Threads: any.
template <class Connection>
class Lender {
 public:
  explicit Lender(std::size_t lent_max) : lent_max_(lent_max) {}

  /// Null: the borrower opens a new one. Each call needs a `give_back`.
  std::unique_ptr<Connection> take() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return lent_ < lent_max_; });
    ++lent_;
    if (idle_.empty()) return nullptr;
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  /// Null: it is of no use any more.
  void give_back(std::unique_ptr<Connection> connection) {
    {
      const std::lock_guard lock(mutex_);
      if (connection) idle_.push_back(std::move(connection));
      --lent_;
    }
    returned_.notify_one();
  }

 private:
  const std::size_t lent_max_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t lent_ = 0;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace det::store
