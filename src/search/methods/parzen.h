#pragma once

#include <cstdint>
#include <vector>

#include "det/base/random.h"

namespace det::search {

/// One number of a search space, as the estimators see it: a range of doubles, of integers, or of choices.
struct Axis {
  enum class Kind { Real, Integer, Choice };
  Kind kind = Kind::Real;
  double low = 0, high = 1;  ///< Real and Integer: both included; Choice: 0 and the last index
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A point of a search space, a number for each axis.
using Point = std::vector<double>;

/// A multivariate Parzen estimator, a mixture of products of kernels: one product at each observation, so
/// that numbers which are good together are drawn together, and one that knows nothing (Falkner et al.,
/// "BOHB", 2018, §3.2; Watanabe, "Tree-Structured Parzen Estimator: Understanding Its Algorithm Components",
/// 2023, §3.3). The kernels of a range are Gaussians cut off at its ends, whose width goes by the greater
/// distance to a neighbour; of choices, most of the weight is on the observed one.
class Parzen {
 public:
  /// `observed`: in the ranges of the axes. `weights`: how much each counts; the kernel that knows nothing
  /// counts 1.
  Parzen(std::vector<Axis> axes, const std::vector<Point>& observed, const std::vector<double>& weights);

  Point draw(Random& random) const;
  /// Logarithm of the density; of integers and choices, of the probability.
  double log_density(const Point& point) const;

 private:
  /// A Gaussian. Of choices: `mean` is the observed one.
  struct Kernel {
    double mean = 0, width = 1;
    double mass = 1;  ///< of it that lies in the range
  };
  /// The kernels of one axis: one for each observation, and last the one that knows nothing.
  struct Column {
    Axis axis;
    double low = 0, high = 0;  ///< half a step more than those of integers
    std::vector<Kernel> kernels;
    /// Of choices, logarithms of the probabilities: not the observed one; the observed one; of the last
    /// kernel.
    std::vector<double> logs;
  };
  static Column column(const Axis& axis, std::vector<double> observed, bool mixed);
  static double draw(const Column& column, std::size_t kernel, Random& random);
  static double log_density(const Column& column, std::size_t kernel, double value);

  std::vector<Column> columns_;
  std::vector<double> shares_;  ///< of each kernel; 1 in all
};

}  // namespace det::search
