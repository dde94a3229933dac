#pragma once

#include <map>

#include "det/store/change.h"

/// Sums over the reports of a curve, which can be put together from those of its parts.
namespace det::store {

/// Of one name, over the reports that hold it.
struct Sums {
  std::int64_t count = 0;
  double sum = 0, min = 0, max = 0;
  json::value last;
  bool numeric = true;  ///< every value was a number; else only `last` is meant

  void add(const json::value& value);
  void add(const Sums& later);
};
BOOST_DESCRIBE_STRUCT(Sums, (), (count, sum, min, max, last, numeric))

using SumsByName = std::map<std::string, Sums>;

void add(SumsByName& sums, const MetricRecord& report);
void add(SumsByName& sums, const SumsByName& later);

/// In short, for there are many: [count, sum, min, max, last], or [last] for what is no number.
json::object to_short(const SumsByName& sums);
SumsByName from_short(const json::object& names);

/// One name of Store::summary_metrics.
json::object to_summary(const Sums& sums);

}  // namespace det::store
