#include "det/master/lists/filter.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

/// A field's condition as text.
std::string field(const std::string& column, const std::string& comparison, const std::string& value,
                  const std::string& type = "COLUMN_TYPE_NUMBER") {
  return fmt::format(R"({{"kind":"field","columnName":"{}","operator":"{}","type":"{}","value":{}}})", column,
                     comparison, type, value);
}
std::string group(const std::string& join, const std::string& children) {
  return fmt::format(
      R"({{"filterGroup":{{"kind":"group","conjunction":"{}","children":[{}]}},"showArchived":true}})", join,
      children);
}

const Row kRow = [](const std::string& column) -> json::value {
  if (column == "id") return 7;
  if (column == "name") return "Fashion MNIST";
  if (column == "tags") return json::array{"vision", "old"};
  if (column == "state") return "STARTING";
  if (column == "startTime") return "2026-03-01T10:00:00Z";
  return nullptr;
};

bool passes(const std::string& filter) {
  const auto parsed = parse_filter(filter);
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed && matches(parsed->root, kRow);
}

TEST(Filter, ComparesNumbersTextsDatesAndLists) {
  const std::tuple<std::string, bool> cases[] = {
      {field("id", "=", "7"), true},
      {field("id", "=", R"("7")"), true},
      {field("id", "!=", "7"), false},
      {field("id", "<", "8"), true},
      {field("id", ">=", "8"), false},
      {field("name", "contains", R"("mnist")", "COLUMN_TYPE_TEXT"), true},
      {field("name", "notContains", R"("mnist")", "COLUMN_TYPE_TEXT"), false},
      {field("name", "=", R"("fashion mnist")", "COLUMN_TYPE_TEXT"), true},
      {field("tags", "contains", R"("old")", "COLUMN_TYPE_ARRAY"), true},
      {field("tags", "contains", R"("ol")", "COLUMN_TYPE_ARRAY"), false},
      {field("startTime", ">", R"("2026-02-01T00:00:00Z")", "COLUMN_TYPE_DATE"), true},
      {field("startTime", "<", R"("2026-02-01T00:00:00Z")", "COLUMN_TYPE_DATE"), false},
      {field("nothing", "isEmpty", "null"), true},
      {field("name", "notEmpty", "null"), true},
      {field("nothing", "=", "1"), false},
      {field("nothing", "!=", "1"), true},
      {field("id", "=", "null"), true},  // somebody is still typing
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(passes(group("and", text)), expected) << text;
}

TEST(Filter, ActiveIsAnyStateOfWhatIsNotPausedAndDoesNotEnd) {
  const std::tuple<std::string, bool> cases[] = {
      {field("state", "=", R"("STARTING")"), true},   {field("state", "=", R"("STATE_STARTING")"), true},
      {field("state", "=", R"("ACTIVE")"), true},     {field("state", "=", R"("STATE_ACTIVE")"), true},
      {field("state", "!=", R"("ACTIVE")"), false},   {field("state", "=", R"("RUNNING")"), false},
      {field("state", "=", R"("COMPLETED")"), false}, {field("state", "!=", R"("PAUSED")"), true},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(passes(group("and", text)), expected) << text;
}

TEST(Filter, JoinsConditionsByAndAndOr) {
  const auto yes = field("id", "=", "7"), no = field("id", "=", "8");
  EXPECT_FALSE(passes(group("and", yes + "," + no)));
  EXPECT_TRUE(passes(group("or", yes + "," + no)));
  EXPECT_TRUE(
      passes(group("and", fmt::format(R"({},{{"conjunction":"or","children":[{},{}]}})", yes, no, yes))));
  EXPECT_TRUE(passes(group("and", "")));
  EXPECT_TRUE(passes(""));
  EXPECT_TRUE(parse_filter(group("and", ""))->show_archived);
}

TEST(Filter, SaysWhatIsWrong) {
  for (const auto& [text, word] : {std::pair<std::string, std::string>{"[1]", "not a JSON object"},
                                   {"{", "JSON"},
                                   {group("xor", ""), "conjunction is 'xor'"},
                                   {group("and", field("id", "~", "1")), "operator of id is '~'"},
                                   {group("and", "3"), "3 where a group or a field"}}) {
    const auto parsed = parse_filter(text);
    ASSERT_FALSE(parsed) << text;
    if (word != "JSON") {
      EXPECT_NE(parsed.error().message().find(word), std::string::npos) << parsed.error().message();
    }
  }
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += R"({"conjunction":"and","children":[)";
  for (int i = 0; i < 40; ++i) deep += "]}";
  EXPECT_FALSE(parse_filter(group("and", deep)));
}

TEST(Filter, SortsByKeysWithWhatHasNoValueLast) {
  const auto keys = parse_sort("startTime=desc,name=asc");
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_TRUE((*keys)[0].descending);
  EXPECT_EQ((*keys)[1].column, "name");
  EXPECT_FALSE(parse_sort("name"));
  EXPECT_TRUE(before(1, 2, false));
  EXPECT_TRUE(before(10, 9, true));
  EXPECT_TRUE(before("a", nullptr, true));
  EXPECT_FALSE(before(nullptr, "a", false));
}

}  // namespace
}  // namespace det::master
