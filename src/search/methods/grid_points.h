#pragma once

#include <string>
#include <vector>

#include "det/base/json.h"
#include "det/config/values/hyperparameter.h"

namespace det::search {

/// A grid is refused when it has more points than this.
constexpr std::int64_t kGridPointsMax = 2000;

/// The points of a grid (searchers.md §3.2): one axis for each hyperparameter
/// that is not constant, nested ones too, in ascending order of names; the last
/// axis varies fastest. Holds the axes, not the points.
class GridPoints {
 public:
  /// Refuses ranges without `count`, all of them named at once, and grids that are too large.
  static Result<GridPoints> make(const config::Hyperparameters& hyperparameters);

  std::int64_t size() const { return size_; }  ///< at least 1: no axes make one point
  json::object at(std::int64_t index) const;   ///< Requires: 0 <= index < size().

 private:
  struct Axis {
    std::vector<std::string> path;  ///< name of the outermost map first
    std::vector<json::value> values;
  };
  void add_axes(const config::Hyperparameters& hyperparameters, std::vector<std::string>& path,
                json::object& constants);

  std::vector<Axis> axes_;
  json::object constants_;  ///< every name in its place; null where an axis puts its value
  std::int64_t size_ = 1;
};

/// The values of one hyperparameter on its axis. Requires: it is not nested and has a count of at least 1.
std::vector<json::value> axis_values(const config::Hyperparameter& hyperparameter);

}  // namespace det::search
