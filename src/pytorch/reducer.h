#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "det/pytorch/export.h"

namespace det::pytorch {

/// How the metrics of many validation batches become one number. Each batch has the same weight.
enum class Reducer { AVG, SUM, MAX, MIN };

/// One reducer for all metrics, or one for each by name; then it names exactly what evaluate_batch returns.
using Reducers = std::variant<Reducer, std::map<std::string, Reducer>>;

/// Requires: not empty. Bit for bit what NumPy computes in Python trials: sums are pairwise.
DET_PYTORCH_API double reduce(Reducer reducer, std::span<const double> values);

/// From what each rank reduced. An average counts each rank by its number of batches.
DET_PYTORCH_API double reduce_ranks(Reducer reducer, std::span<const double> values,
                                    std::span<const std::int64_t> batches);

/// A metric with a rule of its own, over all batches and ranks of a workload; see TrialContext::wrap_reducer.
class DET_PYTORCH_API MetricReducer {
 public:
  virtual ~MetricReducer() = default;
  /// Before every workload: forget everything.
  virtual void reset() = 0;
  /// What this rank has gathered, as numbers.
  virtual std::vector<double> per_slot_reduce() = 0;
  /// The metric, from what all ranks gathered, by rank.
  virtual double cross_slot_reduce(const std::vector<std::vector<double>>& per_slot) = 0;
};

}  // namespace det::pytorch
