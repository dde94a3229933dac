#pragma once

#include <string>
#include <vector>

#include "det/pytorch/metrics.h"

namespace det::pytorch {

/// Gathers what the batches of a workload give, as one row of numbers for each. Values on a GPU are fetched
/// together at the end.
class Collector {
 public:
  /// `method` is what messages call: "train_batch".
  explicit Collector(const char* method) : method_(method) {}

  /// Another set of names than the batches before, or a tensor with several elements: UsageError.
  void add(const Metrics& metrics, std::int64_t batch);
  void finish();  ///< Fetches what is still on a GPU.

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::vector<double>>& rows() const { return rows_; }
  void set_rows(std::vector<std::vector<double>> rows) { rows_ = std::move(rows); }
  std::vector<double> column(std::size_t name) const;
  /// The mean of each metric, added up in the order of the batches.
  Numbers averages() const;

 private:
  struct Later {
    std::size_t row;
    std::size_t column;
    at::Tensor value;
  };
  std::size_t column_of(const std::string& name, std::size_t expected, const Metrics& metrics,
                        std::int64_t batch);
  [[noreturn]] void other_names(const Metrics& metrics, std::int64_t batch) const;
  double read(const std::string& name, const at::Tensor& tensor, std::size_t column);

  const char* method_;
  std::vector<std::string> names_;
  std::vector<std::vector<double>> rows_;
  std::vector<Later> later_;
};

}  // namespace det::pytorch
