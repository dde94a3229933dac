#include <gtest/gtest.h>
#include <torch/torch.h>

#include "det/pytorch/data_feed.h"
#include "det/pytorch/engine/random.h"

namespace det::pytorch {
namespace {

/// Each record is its own number.
struct Numbered {
  at::Tensor get(std::size_t index) const { return torch::tensor(static_cast<std::int64_t>(index)); }
  std::size_t size() const { return 10; }
};

DataLoader<at::Tensor> loader(DataLoaderOptions options) {
  return DataLoader<at::Tensor>(Numbered{}, std::move(options),
                                [](const std::vector<at::Tensor>& records) { return torch::stack(records); });
}

std::vector<std::vector<std::int64_t>> take(const DataLoader<at::Tensor>& from, Share share,
                                            std::int64_t start, int count) {
  DataFeed<at::Tensor> feed(from, share, start);
  std::vector<std::vector<std::int64_t>> batches;
  for (int i = 0; i < count && !feed.finished(); ++i) {
    const auto batch = feed.next();
    batches.emplace_back(batch.const_data_ptr<std::int64_t>(),
                         batch.const_data_ptr<std::int64_t>() + batch.numel());
  }
  return batches;
}

TEST(DataOrderTest, DerivedSeedsAreThoseOfPython) {
  // determined.pytorch._rng.derive(7, "shuffle", 0) and derive(2**32 + 5, "batch", 3, 14)
  EXPECT_EQ(derive(7, {"shuffle", "0"}), 1549835075769479293U);
  EXPECT_EQ(derive((std::uint64_t{1} << 32) + 5, {"batch", "3", "14"}), 8996005747960495707U);
}

TEST(DataOrderTest, AnyBatchCanBeEnteredWithoutThoseBefore) {
  const auto shuffled = loader({.batch_size = 3, .shuffle = true});
  const Share share{.seed = 5};
  const auto all = take(shuffled, share, 0, 11);
  for (std::int64_t start = 0; start < 9; ++start)
    EXPECT_EQ(take(shuffled, share, start, 2), (std::vector(all.begin() + start, all.begin() + start + 2)))
        << "from batch " << start;
}

TEST(DataOrderTest, EveryEpochHasEveryRecordOnceInAnOrderOfItsOwn) {
  const auto all = take(loader({.batch_size = 3, .shuffle = true}), {.seed = 5}, 0, 8);
  std::vector<std::vector<std::int64_t>> epochs(2);
  for (std::size_t i = 0; i < all.size(); ++i)
    epochs[i / 4].insert(epochs[i / 4].end(), all[i].begin(), all[i].end());
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& epoch : epochs) {
    std::ranges::sort(epoch);
    EXPECT_EQ(epoch, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST(DataOrderTest, RanksShareTheBatchesOfOneSequence) {
  const auto plain = loader({.batch_size = 3, .shuffle = true});
  const auto all = take(plain, {.seed = 5}, 0, 9);
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    const auto own = take(plain, {.seed = 5, .replicas = 3, .rank = rank}, 0, 3);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(own[i], all[3 * i + static_cast<std::size_t>(rank)]);
  }
}

/// The records of each global batch, where a trial runs for some batches on some slots with batches of some
/// size.
struct Run {
  int batches;
  std::int64_t slots, batch_size;
};
std::vector<std::vector<std::int64_t>> on_slots(const std::vector<Run>& runs) {
  std::vector<std::vector<std::int64_t>> all;
  std::optional<SequencePosition> saved;
  for (const auto& run : runs) {
    const auto trained = static_cast<std::int64_t>(all.size());
    const DataLoaderOptions options{.batch_size = run.batch_size, .shuffle = true};
    std::vector<std::vector<std::int64_t>> here(static_cast<std::size_t>(run.batches));
    for (std::int64_t rank = 0; rank < run.slots; ++rank) {
      DataFeed<at::Tensor> feed(loader(options), {.seed = 5, .replicas = run.slots, .rank = rank});
      feed.begin(trained, saved);
      for (auto& batch : here) {
        const auto own = feed.next();
        batch.insert(batch.end(), own.const_data_ptr<std::int64_t>(),
                     own.const_data_ptr<std::int64_t>() + own.numel());
      }
    }
    DataOrder order(10, options, {.replicas = run.slots});
    order.begin(trained, saved);
    saved = order.sequence_position(trained + run.batches);
    all.insert(all.end(), here.begin(), here.end());
  }
  return all;
}

TEST(DataOrderTest, AGlobalBatchHasTheSameRecordsOnAnyNumberOfSlots) {
  const auto whole = on_slots({{14, 1, 5}});
  EXPECT_EQ(on_slots({{3, 5, 1}, {4, 1, 5}, {7, 5, 1}}), whole);
  EXPECT_EQ(on_slots({{1, 1, 5}, {13, 5, 1}}), whole);
}

TEST(DataOrderTest, ASlotThatKeepsItsBatchSizeGoesOnAtTheSameRecordAndInItsEpoch) {
  std::vector<std::int64_t> grown, plain;
  for (const auto& batch : on_slots({{2, 2, 1}, {2, 3, 1}, {3, 1, 1}}))
    grown.insert(grown.end(), batch.begin(), batch.end());
  for (const auto& batch : on_slots({{13, 1, 1}})) plain.insert(plain.end(), batch.begin(), batch.end());
  EXPECT_EQ(grown, plain);
  DataOrder order(10, {.batch_size = 1}, {.replicas = 3});
  order.begin(7, SequencePosition{.position = 14, .epoch_batches = 10, .batch_size = 1});
  EXPECT_EQ(order.epochs_ahead(4), 1 * 4 + 4 / 3 - 7) << "its batch 7 is the second of epoch 1";
}

TEST(DataOrderTest, WorkersChangeNothingButTheTime) {
  for (const int workers : {1, 3})
    EXPECT_EQ(take(loader({.batch_size = 3, .shuffle = true, .workers = workers}), {.seed = 5}, 2, 20),
              take(loader({.batch_size = 3, .shuffle = true}), {.seed = 5}, 2, 20));
}

TEST(DataOrderTest, ValidationEndsAndIsTheSameEveryTime) {
  const auto plain = loader({.batch_size = 4});
  const auto pass = take(plain, {.seed = 1, .training = false}, 0, 100);
  EXPECT_EQ(pass, (std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  EXPECT_EQ(take(loader({.batch_size = 4, .drop_last = true}), {.training = false}, 0, 100).size(), 2U);
}

struct Failing : Numbered {
  at::Tensor get(std::size_t index) const {
    if (index == 4) throw std::runtime_error("record 4 is broken");
    return Numbered::get(index);
  }
};

TEST(DataOrderTest, AWorkersExceptionComesAtItsBatch) {
  DataFeed<at::Tensor> feed(
      DataLoader<at::Tensor>(Failing{}, {.batch_size = 2, .workers = 2},
                             [](const std::vector<at::Tensor>& r) { return torch::stack(r); }),
      {});
  feed.next();
  feed.next();
  EXPECT_THROW(feed.next(), std::runtime_error);
  EXPECT_EQ(feed.next()[0].item<std::int64_t>(), 6);
}

TEST(DataOrderTest, DatasetsOfTorchWorkAsTheyAre) {
  const auto rows = torch::arange(10).reshape({5, 2});
  auto stacked = torch::data::datasets::TensorDataset(rows).map(
      torch::data::transforms::Stack<torch::data::TensorExample>());
  DataFeed<torch::data::TensorExample> feed(
      DataLoader<torch::data::TensorExample>(std::move(stacked), {.batch_size = 3}), {.training = false});
  EXPECT_TRUE(feed.next().data.equal(rows.narrow(0, 0, 3)));
  DataFeed<torch::data::Example<>> pairs(
      DataLoader<>(TensorDataset(rows, torch::arange(5)), {.batch_size = 2, .shuffle = true}), {.seed = 3});
  const auto batch = pairs.next();
  EXPECT_TRUE(batch.data.equal(rows.index_select(0, batch.target)));
}

TEST(DataOrderTest, OptionsThatCannotBeAreNamed) {
  EXPECT_THROW(loader({.batch_size = 0}), UsageError);
  EXPECT_THROW(loader({.workers = -1}), UsageError);
  EXPECT_THROW(take(loader({.batch_size = 11, .drop_last = true}), {}, 0, 1), UsageError);
  EXPECT_THROW(take(loader({.batch_size = 10}), {.replicas = 2, .training = false}, 0, 1), UsageError);
}

}  // namespace
}  // namespace det::pytorch
