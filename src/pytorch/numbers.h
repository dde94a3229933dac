#pragma once

#include <string>
#include <utility>
#include <vector>

namespace det::pytorch {

/// Metrics whose values have been read, in the order in which the trial gave them.
using Numbers = std::vector<std::pair<std::string, double>>;

}  // namespace det::pytorch
