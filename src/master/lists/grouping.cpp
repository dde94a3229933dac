#include "det/master/lists/grouping.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace det::master {

std::string group_key(const json::value& value) {
  if (const auto* number = value.if_double())
    if (std::trunc(*number) == *number && std::abs(*number) < 9e15)
      return json::serialize(json::value(static_cast<std::int64_t>(*number)));
  return json::serialize(value);
}

std::vector<RowGroup> group_rows(const std::vector<Row>& rows, const std::vector<std::size_t>& chosen,
                                 const std::string& column) {
  std::vector<RowGroup> groups;
  std::map<std::string, std::size_t> places;
  for (const auto i : chosen) {
    auto value = rows[i](column);
    const auto [place, is_new] = places.emplace(group_key(value), groups.size());
    if (is_new) groups.push_back({.value = std::move(value), .rows = {}});
    groups[place->second].rows.push_back(i);
  }
  return groups;
}

std::optional<ColumnAggregate> aggregate(const std::vector<Row>& rows, const std::vector<std::size_t>& some,
                                         const std::string& column) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ColumnAggregate all{.column = column, .min = kInfinity, .max = -kInfinity};
  for (const auto i : some) {
    const auto value = rows[i](column);
    if (!value.is_number() || !std::isfinite(value.to_number<double>())) continue;
    const auto number = value.to_number<double>();
    ++all.count;
    all.min = std::min(all.min, number);
    all.max = std::max(all.max, number);
    all.sum += number;
  }
  if (all.count == 0) return std::nullopt;
  all.mean = all.sum / all.count;
  return all;
}

std::map<std::string, std::int32_t> tally(const std::vector<Row>& rows, const std::vector<std::size_t>& some,
                                          const std::string& column) {
  std::map<std::string, std::int32_t> counts;
  for (const auto i : some)
    if (const auto value = rows[i](column); value.is_string()) ++counts[std::string(value.get_string())];
  return counts;
}

}  // namespace det::master
