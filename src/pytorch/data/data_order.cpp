#include "det/pytorch/data_order.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "det/pytorch/engine/random.h"
#include "det/pytorch/errors.h"

namespace det::pytorch {

std::int64_t sharded_length(std::int64_t length, std::int64_t replicas, std::int64_t rank) {
  return length / replicas + (length % replicas > rank ? 1 : 0);
}

DataOrder::DataOrder(std::size_t records, DataLoaderOptions options, Share share)
    : records_(records),
      options_(std::move(options)),
      share_(share),
      order_seed_(derive(share.seed, {share.training ? "training" : "validation"})) {
  const auto n = static_cast<std::int64_t>(records);
  const auto size = options_.batch_size;
  if (options_.sampler) {
    sampled_ = options_.sampler(0, seeded_generator(derive(order_seed_, {"sampler", "0"})));
    drawn_ = 0;
    records_ = sampled_.size();
    const auto drawn = static_cast<std::int64_t>(sampled_.size());
    batches_ = options_.drop_last ? drawn / size : (drawn + size - 1) / size;
  } else {
    batches_ = options_.drop_last ? n / size : (n + size - 1) / size;
  }
  const char* use = share.training ? "training" : "validation";
  if (batches_ == 0)
    throw UsageError(
        c10::str("the ", use, " data loader has no batches: ", records, " records in batches of ", size));
  if (!share.training && batches_ < share.replicas)
    throw UsageError(c10::str("the validation data has ", batches_,
                              " batches; it must have at least one for each of ", share.replicas, " slots"));
}

std::int64_t DataOrder::rank_batches() const {
  return sharded_length(batches_, share_.replicas, share_.rank);
}

void DataOrder::begin(std::int64_t index, const std::optional<SequencePosition>& saved) {
  began_ = index;
  first_ = index * share_.replicas;
  if (!saved || saved->epoch_batches < 1) return;
  first_ = saved->position;
  if (saved->epoch_batches == batches_ && saved->batch_size == options_.batch_size) return;
  const auto records = saved->position % saved->epoch_batches * saved->batch_size;
  first_ = saved->position / saved->epoch_batches * batches_ + records / options_.batch_size;
}

SequencePosition DataOrder::sequence_position(std::int64_t index) const {
  return {.position = first_ + (index - began_) * share_.replicas,
          .epoch_batches = batches_,
          .batch_size = options_.batch_size};
}

std::int64_t DataOrder::epochs_ahead(std::int64_t rank_batches) const {
  if (first_ == began_ * share_.replicas) return 0;
  return first_ / batches_ * rank_batches + first_ % batches_ / share_.replicas - began_;
}

Position DataOrder::position(std::int64_t index) const {
  const auto global = first_ + (index - began_) * share_.replicas + share_.rank;
  return {global / batches_, global % batches_};
}

void DataOrder::draw(std::int64_t epoch) {
  const auto name = std::to_string(epoch);
  if (options_.sampler) {
    sampled_ = options_.sampler(epoch, seeded_generator(derive(order_seed_, {"sampler", name})));
    if (sampled_.size() != records_)
      throw UsageError(c10::str("the sampler gave ", sampled_.size(), " records for epoch ", epoch,
                                "; it must give the same number as for epoch 0, ", records_));
  } else {
    const auto generator = seeded_generator(derive(order_seed_, {"shuffle", name}));
    shuffled_ = at::randperm(static_cast<std::int64_t>(records_), generator, at::TensorOptions(at::kLong));
  }
  drawn_ = epoch;
}

void DataOrder::records(Position position, Indices& out) {
  const auto size = static_cast<std::size_t>(options_.batch_size);
  const auto first = static_cast<std::size_t>(position.batch) * size;
  const auto count = std::min(size, records_ - first);
  out.resize(count);
  const bool plain = !options_.sampler && !options_.shuffle;
  if (!plain && drawn_ != position.epoch) draw(position.epoch);
  if (options_.sampler) {
    std::copy_n(sampled_.begin() + static_cast<std::ptrdiff_t>(first), count, out.begin());
  } else if (options_.shuffle) {
    const auto* order = shuffled_->const_data_ptr<std::int64_t>() + first;
    std::transform(order, order + count, out.begin(),
                   [](std::int64_t i) { return static_cast<std::size_t>(i); });
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = first + i;
  }
}

std::uint64_t DataOrder::seed(Position position) const {
  const auto batch = std::to_string(position.batch);
  if (!share_.training) return derive(share_.seed, {"validation", batch});
  return derive(share_.seed, {"batch", std::to_string(position.epoch), batch});
}

at::Tensor select_rows(const at::Tensor& tensor, const Indices& rows) {
  bool consecutive = !rows.empty();
  for (std::size_t i = 1; i < rows.size() && consecutive; ++i) consecutive = rows[i] == rows[0] + i;
  const auto count = static_cast<std::int64_t>(rows.size());
  if (consecutive) return tensor.narrow(0, static_cast<std::int64_t>(rows[0]), count).clone();
  auto index = at::empty({count}, at::kLong);
  std::transform(rows.begin(), rows.end(), index.mutable_data_ptr<std::int64_t>(),
                 [](std::size_t row) { return static_cast<std::int64_t>(row); });
  return tensor.index_select(0, index);
}

}  // namespace det::pytorch
