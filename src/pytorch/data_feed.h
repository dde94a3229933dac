#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "det/pytorch/data_loader.h"

namespace det::pytorch {

/// Uses one thread for each operation of this thread, which has others beside it.
DET_PYTORCH_API void compute_alone();

/// A running data loader: the batches of one rank, in order, from any batch on. With workers, threads load
/// ahead; the batches and their order are the same with any number of them.
template <typename Batch>
class DataFeed {
 public:
  DataFeed(DataLoader<Batch> loader, Share share, std::int64_t start = 0)
      : loader_(std::move(loader)),
        order_(loader_.records(), loader_.options(), share),
        end_(share.training ? std::numeric_limits<std::int64_t>::max() : order_.rank_batches()),
        claimed_(start),
        next_(start),
        seed_([this] { return order_.seed(here_); }) {
    order_.begin(start, std::nullopt);
  }
  ~DataFeed() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }
  DataFeed(const DataFeed&) = delete;
  DataFeed& operator=(const DataFeed&) = delete;

  std::int64_t rank_batches() const { return order_.rank_batches(); }
  bool finished() const { return next_ >= end_; }
  /// Begins with this rank's batch `batch`; see DataOrder::begin. Requires: before the first `next`.
  void begin(std::int64_t batch, const std::optional<SequencePosition>& saved) {
    claimed_ = next_ = batch;
    order_.begin(batch, saved);
  }
  const DataOrder& order() const { return order_; }

  std::int64_t records() const { return given_; }  ///< In all batches that `next` gave.

  /// The next batch. Requires: not finished. Throws what the data set threw for it.
  Batch next() {
    if (loader_.options().workers == 0) {
      here_ = order_.position(next_++);
      order_.records(here_, indices_);
      given_ += static_cast<std::int64_t>(indices_.size());
      return loader_.batch(indices_, seed_);
    }
    if (threads_.empty())
      for (int i = 0; i < loader_.options().workers; ++i) threads_.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.contains(next_); });
    auto node = ready_.extract(next_++);
    lock.unlock();
    changed_.notify_all();
    if (node.mapped().failure) std::rethrow_exception(node.mapped().failure);
    given_ += node.mapped().records;
    return std::move(*node.mapped().batch);
  }

 private:
  struct Loaded {
    std::optional<Batch> batch;
    std::int64_t records = 0;
    std::exception_ptr failure;
  };

  void work() {
    compute_alone();
    const std::int64_t ahead = std::int64_t{loader_.options().workers} * loader_.options().prefetch;
    Indices indices;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || (claimed_ < end_ && claimed_ < next_ + ahead); });
      if (stopping_) return;
      const auto index = claimed_++;
      Loaded loaded;
      const auto position = order_.position(index);
      try {
        order_.records(position, indices);
        loaded.records = static_cast<std::int64_t>(indices.size());
        lock.unlock();
        loaded.batch = loader_.batch(indices, [&] { return order_.seed(position); });
        lock.lock();
      } catch (...) {
        loaded.failure = std::current_exception();
        if (!lock.owns_lock()) lock.lock();
      }
      ready_.emplace(index, std::move(loaded));
      changed_.notify_all();
    }
  }

  DataLoader<Batch> loader_;
  DataOrder order_;
  std::int64_t end_;
  std::int64_t claimed_;
  std::int64_t next_;
  std::int64_t given_ = 0;
  Position here_;
  Indices indices_;
  std::function<std::uint64_t()> seed_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Loaded> ready_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace det::pytorch
