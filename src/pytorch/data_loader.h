#pragma once

#include <torch/data/datasets.h>
#include <torch/data/example.h>
#include <torch/data/transforms/stack.h>

#include <concepts>
#include <memory>
#include <optional>

#include "det/pytorch/data_order.h"
#include "det/pytorch/errors.h"

namespace det::pytorch {

/// Images and labels, or whatever two tensors with equally many rows are. Batches are cut out of the tensors
/// in one step, not put together record by record.
class TensorDataset {
 public:
  TensorDataset(at::Tensor data, at::Tensor target) : data_(std::move(data)), target_(std::move(target)) {
    if (data_.dim() == 0 || target_.dim() == 0 || data_.size(0) != target_.size(0))
      throw UsageError(c10::str("TensorDataset: ", data_.sizes(), " and ", target_.sizes(),
                                " must have the same number of rows"));
  }
  torch::data::Example<> get_batch(const Indices& rows) const {
    return {select_rows(data_, rows), select_rows(target_, rows)};
  }
  std::size_t size() const { return static_cast<std::size_t>(data_.size(0)); }

 private:
  at::Tensor data_;
  at::Tensor target_;
};

/// The data of a trial: a data set, and how it is cut into batches. Described rather than running: the
/// platform gives every slot its share, repeats the training data for ever, and goes on at the right batch
/// after a pause.
///
/// A data set is any of `torch::data::datasets`, or a class of your own with `size()` and one of
///
///   get_batch(indices)             a whole batch, or a vector of records
///   get(index)                     a record
///   get_batch(indices, generator), get(index, generator)
///
/// The last two draw from a generator that follows from the seed, the epoch and the batch: random
/// augmentation that is the same wherever it happens. A data set that draws from PyTorch's default generator
/// is as reproducible with `workers` 0 only. With workers, several threads call the data set at once.
///
/// Records become a batch through `collate`, by default torch::stack of their tensors.
template <typename Batch = torch::data::Example<>>
class DataLoader {
 public:
  template <typename Dataset>
  explicit DataLoader(Dataset dataset, DataLoaderOptions options = {})
      : DataLoader(std::move(dataset), std::move(options), nullptr) {}

  template <typename Dataset, typename Collate>
  DataLoader(Dataset dataset, DataLoaderOptions options, Collate collate) : options_(std::move(options)) {
    if (options_.batch_size < 1)
      throw UsageError(c10::str("batch_size is ", options_.batch_size, "; it must be at least 1"));
    if (options_.workers < 0)
      throw UsageError(c10::str("workers is ", options_.workers, "; it must not be negative"));
    if (options_.prefetch < 1)
      throw UsageError(c10::str("prefetch is ", options_.prefetch, "; it must be at least 1"));
    if (options_.sampler && options_.shuffle) throw UsageError("sampler and shuffle cannot be used together");
    auto shared = std::make_shared<Dataset>(std::move(dataset));
    records_ = size_of(*shared);
    load_ = [shared, collate](const Indices& indices, const std::function<std::uint64_t()>& seed) -> Batch {
      (void)collate;  // where nothing needs it
      auto loaded = load(*shared, indices, seed);
      if constexpr (std::convertible_to<decltype(loaded), Batch>)
        return loaded;
      else if constexpr (std::same_as<Collate, std::nullptr_t>)
        return torch::data::transforms::Stack<typename decltype(loaded)::value_type>().apply_batch(
            std::move(loaded));
      else
        return collate(std::move(loaded));
    };
  }

  const DataLoaderOptions& options() const { return options_; }
  std::size_t records() const { return records_; }
  /// One batch of the data set. `seed` is asked only where the data set takes a generator.
  Batch batch(const Indices& indices, const std::function<std::uint64_t()>& seed) const {
    return load_(indices, seed);
  }

 private:
  template <typename Dataset>
  static std::size_t size_of(const Dataset& dataset) {
    if constexpr (std::convertible_to<decltype(dataset.size()), std::size_t>) {
      return static_cast<std::size_t>(dataset.size());
    } else {
      const std::optional<std::size_t> size = dataset.size();
      if (!size)
        throw UsageError(
            "the size of the data set is unknown; it must be known to split and resume the data");
      return *size;
    }
  }

  template <typename Dataset>
  static auto load(Dataset& dataset, const Indices& indices, const std::function<std::uint64_t()>& seed) {
    if constexpr (requires(at::Generator g) { dataset.get_batch(indices, g); }) {
      return dataset.get_batch(indices, generator(seed));
    } else if constexpr (requires(at::Generator g) { dataset.get(std::size_t{}, g); }) {
      auto drawn = generator(seed);
      std::vector<decltype(dataset.get(std::size_t{}, drawn))> records;
      records.reserve(indices.size());
      for (const auto index : indices) records.push_back(dataset.get(index, drawn));
      return records;
    } else if constexpr (requires { dataset.get_batch(indices); }) {
      return dataset.get_batch(indices);
    } else {
      std::vector<decltype(dataset.get(std::size_t{}))> records;
      records.reserve(indices.size());
      for (const auto index : indices) records.push_back(dataset.get(index));
      return records;
    }
  }

  static at::Generator generator(const std::function<std::uint64_t()>& seed);

  DataLoaderOptions options_;
  std::size_t records_ = 0;
  std::function<Batch(const Indices&, const std::function<std::uint64_t()>&)> load_;
};

DET_PYTORCH_API at::Generator seeded_generator(std::uint64_t seed);

template <typename Batch>
at::Generator DataLoader<Batch>::generator(const std::function<std::uint64_t()>& seed) {
  return seeded_generator(seed());
}

}  // namespace det::pytorch
