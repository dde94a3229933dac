#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "det/base/json.h"

namespace det::config {

struct Hyperparameter;
/// By name, in ascending byte order: the order in which a search draws them.
using Hyperparameters = std::map<std::string, Hyperparameter>;

struct Constant {
  json::value value;
};
/// `maxval` is included for configurations with `max_length` or `max_time`, excluded for
/// those with `max_steps`, as their releases did (searchers.md §1, 0.17.0).
struct Integer {
  std::int64_t minval = 0;
  std::int64_t maxval = 0;
  std::optional<std::int64_t> count;
};
struct Double {
  double minval = 0;
  double maxval = 0;
  std::optional<std::int64_t> count;
};
/// base^x with x uniform in [minval, maxval].
struct Log {
  double base = 10;
  double minval = 0;
  double maxval = 0;
  std::optional<std::int64_t> count;
};
struct Categorical {
  std::vector<json::value> values;
};
struct Nested {
  Hyperparameters children;
};

struct Hyperparameter {
  std::variant<Constant, Integer, Double, Log, Categorical, Nested> kind;
};

}  // namespace det::config
