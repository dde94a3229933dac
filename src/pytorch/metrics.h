#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "det/pytorch/export.h"
#include "det/pytorch/numbers.h"

namespace det::pytorch {

/// A number, or a tensor with one element. A tensor on a GPU is read only when the batches are reported, so
/// that training does not wait for it.
class Metric {
 public:
  Metric(double value) : held_(value) {}
  Metric(at::Tensor value) : held_(std::move(value)) {}

  const double* number() const { return std::get_if<double>(&held_); }
  const at::Tensor* tensor() const { return std::get_if<at::Tensor>(&held_); }

 private:
  std::variant<double, at::Tensor> held_;
};

/// What a batch gave: `return {{"loss", loss}, {"accuracy", correct}};`. Every batch has the same names.
class Metrics {
 public:
  using Entry = std::pair<std::string, Metric>;

  Metrics() = default;
  Metrics(std::initializer_list<Entry> entries) : entries_(entries) {}
  /// A tensor alone is the loss.
  Metrics(at::Tensor loss) : entries_{{"loss", Metric(std::move(loss))}} {}

  void add(std::string name, Metric value) { entries_.emplace_back(std::move(name), std::move(value)); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace det::pytorch
