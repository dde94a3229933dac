#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/master/lists/filter.h"

/// Rows of a list that have the same value in a column, and what their other columns amount to. Pure.
namespace det::master {

/// Equal for values that are in one group: 1 and 1.0 are, and so is everything that has none.
std::string group_key(const json::value& value);

struct RowGroup {
  json::value value;
  std::vector<std::size_t> rows;
};
/// In the order of their first rows.
std::vector<RowGroup> group_rows(const std::vector<Row>& rows, const std::vector<std::size_t>& chosen,
                                 const std::string& column);

/// The numbers that some rows have in a column.
struct ColumnAggregate {
  std::string column;
  std::int32_t count = 0;  ///< rows that have a finite number there
  double min = 0, max = 0, mean = 0, sum = 0;
};
BOOST_DESCRIBE_STRUCT(ColumnAggregate, (), (column, count, min, max, mean, sum))
/// None where no row has a number.
std::optional<ColumnAggregate> aggregate(const std::vector<Row>& rows, const std::vector<std::size_t>& some,
                                         const std::string& column);
/// How many rows have each text in a column.
std::map<std::string, std::int32_t> tally(const std::vector<Row>& rows, const std::vector<std::size_t>& some,
                                          const std::string& column);

}  // namespace det::master
