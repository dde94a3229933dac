#include "det/master/logs/log_text.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

TEST(LogText, IsAlwaysUtf8) {
  struct Row {
    std::string bytes, text;
  };
  // clang-format off
  const Row rows[] = {
      {"plain",              "plain\n"},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f\n"},
      {"a\xff" "b",          "a\xef\xbf\xbd" "b\n"},
      {"a\xc3",              "a\xef\xbf\xbd\n"},
      {"\xff\xc3\xbc",       "\xef\xbf\xbd\xc3\xbc\n"},
      {"",                   "\n"}};
  // clang-format on
  for (const auto& row : rows) {
    experiment::LogRecord record;
    record.log = row.bytes;
    EXPECT_EQ(to_api(record, std::nullopt).log, row.text);
  }
}

TEST(LogText, StartsWithTimeContainerRankAndLevel) {
  struct Row {
    const char *task, *container;
    std::optional<int> rank;
    const char *level, *log, *api_level, *message;
  };
  // clang-format off
  const Row rows[] = {
      {"12.abcdefgh-1", "0123456789", 0,            "INFO", "hello",       "LOG_LEVEL_INFO",        "01234567 [rank=0] || INFO: hello\n"},
      {"12.abcdefgh-1", "",           3,            "INFO", "INFO: hello", "LOG_LEVEL_INFO",        "abcdefgh [rank=3] || INFO: hello\n"},
      {"abcdefgh-1",    "",           std::nullopt, "",     "hello",       "LOG_LEVEL_UNSPECIFIED", "abcdefgh || hello\n"},
      {"abc",           "",           std::nullopt, "",     "hello",       "LOG_LEVEL_UNSPECIFIED", "abc      || hello\n"}};
  // clang-format on
  for (const auto& row : rows) {
    experiment::LogRecord record;
    record.task_id = row.task;
    record.container_id = row.container;
    record.rank = row.rank;
    record.level = row.level;
    record.log = row.log;
    const auto line = to_api(record, TrialId(5));
    EXPECT_EQ(line.level, row.api_level);
    EXPECT_EQ(line.message, fmt::format("[{}] {}", to_rfc3339(Time{}), row.message));
    EXPECT_EQ(line.trial_id, TrialId(5));
  }
}

TEST(LogLevels, HaveNoPrefix) {
  for (const auto* level : {"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})
    EXPECT_TRUE(is_log_level(level)) << level;
  for (const auto* level : {"", "LOG_LEVEL_INFO", "info", "UNSPECIFIED"})
    EXPECT_FALSE(is_log_level(level)) << level;
}

}  // namespace
}  // namespace det::master
