#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace det::pytorch {

class Store;
class Watch;

/// Another rank is gone, or does something else than this one: not this rank's own failure.
struct RankLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Which of a trial's processes this is, and on which machine each of them runs.
struct Place {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::vector<std::int64_t> machines{0};  ///< Of each rank, the number of its machine.
};

/// The ranks of a trial with several slots, connected. All calls are those of one thread; every rank makes
/// them, in the same order. They throw RankLost.
///
/// Tensors travel over Gloo, so that sums are Python's to the bit for any number of ranks, those on GPUs over
/// NCCL where gpu_parts.h has it; values in a group of their own.
class Ranks {
 public:
  /// Connects to all others. `interface` is the network device to use. A tensor's exchange may take
  /// `timeout`.
  Ranks(Store& store, Place place, Watch& watch, const std::string& interface,
        std::chrono::milliseconds timeout);
  ~Ranks();

  const Place& place() const { return place_; }
  Watch& watch() { return watch_; }

  /// One value of each rank, in the order of ranks. `what` says what for, to whoever looks why nothing moves.
  std::vector<std::string> allgather(const std::string& value, const char* what);
  /// The same for rank 0; the others get nothing.
  std::vector<std::string> gather(const std::string& value, const char* what);
  std::string broadcast(const std::string& value, const char* what);  ///< Rank 0's.
  /// As broadcast, however long rank 0 takes before it: it may evaluate, save, or wait for the searcher.
  std::string announce(const std::string& value);

  /// A sum over all ranks, on its way.
  class Sum {
   public:
    virtual ~Sum() = default;
    virtual void wait() = 0;
  };
  std::unique_ptr<Sum> sum(const at::Tensor& tensor);  ///< In place; starts at once.
  /// Overwrites tensors with those of rank 0.
  void spread(const std::vector<at::Tensor>& tensors);

 private:
  struct Groups;
  std::string from_first(const std::string& value);

  Place place_;
  Watch& watch_;
  std::unique_ptr<Groups> groups_;
};

}  // namespace det::pytorch
