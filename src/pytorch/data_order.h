#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "det/pytorch/export.h"

namespace det::pytorch {

using Indices = std::vector<std::size_t>;

struct DataLoaderOptions {
  std::int64_t batch_size = 1;  ///< Of one slot: context.get_per_slot_batch_size().
  bool shuffle = false;         ///< Anew in each epoch; follows from the trial's seed and the epoch alone.
  bool drop_last = false;       ///< Leaves out an epoch's last batch if it is smaller.
  int workers = 0;              ///< Threads that load ahead; 0: batches are loaded when they are needed.
  int prefetch = 2;             ///< How many batches each of them may be ahead.
  /// The records of an epoch in an order of your own, as many as the first epoch has; must follow from its
  /// arguments alone. Excludes `shuffle`.
  std::function<Indices(std::int64_t epoch, at::Generator)> sampler;
};

/// Which batches a rank of a trial takes: of the one endless sequence of all ranks each `replicas`-th, from
/// `rank`.
struct Share {
  std::uint64_t seed = 0;
  std::int64_t replicas = 1;
  std::int64_t rank = 0;
  bool training = true;  ///< Repeats for ever; else one epoch.
};

/// Where a batch is: its epoch, and its number in the epoch.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
};

/// Where a run is in the one endless sequence of all ranks' batches, as a checkpoint has it.
struct SequencePosition {
  std::int64_t position = 0;       ///< Batches of the sequence before it.
  std::int64_t epoch_batches = 0;  ///< Of the sequence, in an epoch.
  std::int64_t batch_size = 0;     ///< Records in a batch of the sequence.
};

/// The order of a data set's batches: a function of (seed, epoch), entered at any position without replaying.
/// The same records in the same batches as a Python trial with the same seed.
class DET_PYTORCH_API DataOrder {
 public:
  DataOrder(std::size_t records, DataLoaderOptions options, Share share);

  std::int64_t epoch_batches() const { return batches_; }  ///< Over all ranks.
  std::int64_t rank_batches() const;                       ///< Of this rank in one epoch.
  /// A run begins at this rank's batch `index`: at the record where an earlier run was that had `saved`,
  /// perhaps on another number of slots.
  void begin(std::int64_t index, const std::optional<SequencePosition>& saved);
  /// Before this rank's batch `index`.
  SequencePosition sequence_position(std::int64_t index) const;
  /// What to add to the number of a batch, so that its epoch follows from it, in an epoch of `rank_batches`
  /// batches of a rank. 0 unless the number of slots has changed.
  std::int64_t epochs_ahead(std::int64_t rank_batches) const;
  /// Where this rank's batch `index`, counted from the start of training, is.
  Position position(std::int64_t index) const;
  /// The records of a batch.
  void records(Position position, Indices& out);
  /// The seed of what a data set draws for a batch.
  std::uint64_t seed(Position position) const;

 private:
  void draw(std::int64_t epoch);

  std::size_t records_;
  DataLoaderOptions options_;
  Share share_;
  std::uint64_t order_seed_;
  std::int64_t batches_ = 0;
  std::int64_t began_ = 0;   ///< the rank's batch with which this run began
  std::int64_t first_ = 0;   ///< batches of the sequence before it
  std::int64_t drawn_ = -1;  ///< the epoch of the two below
  std::optional<at::Tensor> shuffled_;
  Indices sampled_;
};

/// Rows of a tensor, copied; much faster where they follow each other.
DET_PYTORCH_API at::Tensor select_rows(const at::Tensor& tensor, const Indices& rows);

/// How many of `length` things rank `rank` gets when they are dealt out in turn.
std::int64_t sharded_length(std::int64_t length, std::int64_t replicas, std::int64_t rank);

}  // namespace det::pytorch
