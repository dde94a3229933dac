#include "det/pytorch/engine/collector.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "det/pytorch/errors.h"

namespace det::pytorch {

namespace {

std::string joined(std::vector<std::string> names) {
  std::ranges::sort(names);
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

void Collector::other_names(const Metrics& metrics, std::int64_t batch) const {
  std::vector<std::string> found;
  for (const auto& [name, value] : metrics.entries()) found.push_back(name);
  throw UsageError(c10::str(method_, " returned the metrics ", joined(found), " at batch ", batch, ", but ",
                            joined(names_),
                            " for earlier batches; it must return the same metrics for every batch"));
}

std::size_t Collector::column_of(const std::string& name, std::size_t expected, const Metrics& metrics,
                                 std::int64_t batch) {
  if (names_[expected] == name) return expected;
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) other_names(metrics, batch);
  return static_cast<std::size_t>(found - names_.begin());
}

double Collector::read(const std::string& name, const at::Tensor& tensor, std::size_t column) {
  if (!tensor.defined() || tensor.numel() != 1)
    throw UsageError(
        c10::str(method_, ": metric ", name, " is ",
                 tensor.defined() ? c10::str("a tensor of shape ", tensor.sizes()) : "an empty tensor",
                 "; it must have one element"));
  if (!tensor.is_cpu()) {
    later_.push_back({rows_.size() - 1, column, tensor.detach().clone()});
    return 0;
  }
  if (tensor.scalar_type() == at::kFloat) return *tensor.const_data_ptr<float>();  // without the dispatcher
  return tensor.item<double>();
}

void Collector::add(const Metrics& metrics, std::int64_t batch) {
  const auto& entries = metrics.entries();
  if (rows_.empty()) {
    for (const auto& [name, value] : entries) {
      if (std::ranges::find(names_, name) != names_.end())
        throw UsageError(c10::str(method_, " returned the metric ", name, " twice"));
      names_.push_back(name);
    }
  } else if (entries.size() != names_.size()) {
    other_names(metrics, batch);
  }
  auto& row = rows_.emplace_back(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [name, value] = entries[i];
    const auto column = column_of(name, i, metrics, batch);
    row[column] = value.number() != nullptr ? *value.number() : read(name, *value.tensor(), column);
  }
}

void Collector::finish() {
  if (later_.empty()) return;
  std::vector<at::Tensor> waiting;
  for (const auto& later : later_) waiting.push_back(later.value.to(at::kDouble).reshape({}));
  const auto arrived = at::stack(waiting).cpu();
  const auto* values = arrived.const_data_ptr<double>();
  for (std::size_t i = 0; i < later_.size(); ++i) rows_[later_[i].row][later_[i].column] = values[i];
  later_.clear();
}

std::vector<double> Collector::column(std::size_t name) const {
  std::vector<double> values;
  values.reserve(rows_.size());
  for (const auto& row : rows_) values.push_back(row[name]);
  return values;
}

Numbers Collector::averages() const {
  Numbers averages;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    double sum = 0;
    for (const auto& row : rows_) sum += row[i];
    averages.emplace_back(names_[i], sum / static_cast<double>(rows_.size()));
  }
  return averages;
}

}  // namespace det::pytorch
