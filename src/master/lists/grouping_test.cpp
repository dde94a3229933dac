#include "det/master/lists/grouping.h"

#include <gtest/gtest.h>

#include <limits>

namespace det::master {
namespace {

Row row(json::object columns) {
  return [columns = std::move(columns)](const std::string& column) {
    const auto* value = columns.if_contains(column);
    return value == nullptr ? json::value() : *value;
  };
}

const std::vector<Row> kRows = {row({{"lr", 0.1}, {"loss", 3}, {"state", "COMPLETED"}}),
                                row({{"lr", 1}, {"loss", 1.5}, {"state", "ERROR"}}),
                                row({{"lr", 0.1}, {"loss", 2.0}, {"state", "COMPLETED"}}),
                                row({{"loss", "none"}, {"state", "RUNNING"}}),
                                row({{"lr", 1.0}}),
                                row({{"lr", "1"}, {"loss", std::numeric_limits<double>::quiet_NaN()}})};

TEST(RowGroups, HaveTheRowsWithTheSameValueInTheOrderOfTheirFirst) {
  const auto groups = group_rows(kRows, {1, 0, 2, 3, 4, 5}, "lr");
  std::vector<std::pair<std::string, std::vector<std::size_t>>> found;
  for (const auto& group : groups) found.emplace_back(json::serialize(group.value), group.rows);
  const std::vector<std::pair<std::string, std::vector<std::size_t>>> expected = {
      {"1", {1, 4}}, {json::serialize(json::value(0.1)), {0, 2}}, {"null", {3}}, {"\"1\"", {5}}};
  EXPECT_EQ(found, expected);
}

TEST(RowGroups, AmountToNumbersThatAreFinite) {
  const auto loss = aggregate(kRows, {0, 1, 2, 3, 4, 5}, "loss");
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->count, 3);
  EXPECT_EQ(loss->min, 1.5);
  EXPECT_EQ(loss->max, 3);
  EXPECT_EQ(loss->sum, 6.5);
  EXPECT_DOUBLE_EQ(loss->mean, 6.5 / 3);
  EXPECT_FALSE(aggregate(kRows, {3, 4, 5}, "loss")) << "not a number";
  EXPECT_EQ(tally(kRows, {0, 1, 2, 3, 4, 5}, "state"),
            (std::map<std::string, std::int32_t>{{"COMPLETED", 2}, {"ERROR", 1}, {"RUNNING", 1}}));
}

}  // namespace
}  // namespace det::master
