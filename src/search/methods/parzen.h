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

/// A one-dimensional Parzen estimator (Bergstra et al., "Algorithms for Hyper-Parameter Optimization", 2011,
/// §4): of a range a mixture of Gaussians, one at each observation and one as wide as the range in its
/// middle, cut off at its ends; the width of each is the greater distance to its neighbours. Of choices the
/// frequencies, with one more of each.
class Parzen {
 public:
  /// `observed`: in the axis' range.
  Parzen(const Axis& axis, std::vector<double> observed);

  double draw(Random& random) const;
  /// Logarithm of the density, or of the probability.
  double log_density(double value) const;

 private:
  struct Bell {
    double mean = 0, width = 1;
    double mass = 1;  ///< of it that lies in the range
  };
  Axis axis_;
  double low_, high_;  // of the bells: half a step more than those of integers
  std::vector<Bell> bells_;
  std::vector<double> choices_;  // probabilities
};

}  // namespace det::search
