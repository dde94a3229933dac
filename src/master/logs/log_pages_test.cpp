#include "det/master/logs/log_pages.h"

#include <gtest/gtest.h>

#include <limits>

namespace det::master {
namespace {

constexpr auto kAllLines = std::numeric_limits<std::int64_t>::max();

TEST(LogPages, ReadOnUntilTheReaderHasWhatItAskedFor) {
  struct Row {
    const char* what;
    bool descending, searched;
    std::int64_t limit, first_limit;  // of lines to send, and of the first read
    std::int64_t seen, last, sent;    // by it
    bool complete, more;
    std::int64_t left, after_id, before_id, next_limit;  // before_id 0: no bound
  };
  // clang-format off
  const Row rows[] = {
      //                     desc   search limit first  seen  last  sent  complete more  left             after before next
      {"all, full read",     false, false, 0,    2'000, 2'000, 2'010, 2'000, false, true,  kAllLines - 2'000, 2'010, 0,  2'000},
      {"all, end of log",    false, false, 0,    2'000, 7,     17,    7,     false, false, kAllLines - 7,     17,    0,  2'000},
      {"all, nothing",       false, false, 0,    2'000, 0,     0,     0,     false, false, kAllLines,         10,    0,  2'000},
      {"first five",         false, false, 5,    5,     5,     15,    5,     true,  false, 0,                 15,    0,  0},
      {"five, three there",  false, false, 5,    5,     3,     13,    3,     false, false, 2,                 13,    0,  2},
      {"many, full read",    false, false, 2'500, 2'000, 2'000, 2'010, 2'000, false, true, 500,               2'010, 0,  500},
      {"search, full read",  false, true,  5,    2'000, 2'000, 2'010, 1,     false, true,  4,                 2'010, 0,  2'000},
      {"search, enough",     false, true,  5,    2'000, 2'000, 2'010, 5,     true,  true,  0,                 2'010, 0,  2'000},
      {"search, end of log", false, true,  5,    2'000, 9,     19,    0,     false, false, 5,                 19,    0,  2'000},
      {"last five",          true,  false, 5,    5,     5,     95,    5,     true,  false, 0,                 10,    95, 5},
      {"last five of three", true,  false, 5,    5,     3,     97,    3,     true,  false, 2,                 10,    97, 5},
      {"all backwards",      true,  false, 0,    0,     2'000, 20,    2'000, true,  false, kAllLines - 2'000, 10,    20, 0},
      {"search backwards",   true,  true,  5,    2'000, 2'000, 30,    1,     false, true,  4,                 10,    30, 2'000},
      {"search to the start", true, true,  5,    2'000, 80,    20,    1,     true,  false, 4,                 10,    20, 2'000}};
  // clang-format on
  for (const auto& row : rows) {
    store::LogQuery query{.task_id = "t1"};
    query.descending = row.descending;
    query.after_id = 10;
    LogPages pages(query, row.limit, row.searched);
    EXPECT_EQ(pages.query().limit, row.first_limit) << row.what;
    EXPECT_EQ(pages.query().task_id, "t1");
    EXPECT_EQ(pages.left(), row.limit > 0 ? row.limit : kAllLines) << row.what;
    pages.took(row.seen, row.last, row.sent);
    EXPECT_EQ(pages.complete(), row.complete) << row.what;
    EXPECT_EQ(pages.more(), row.more) << row.what;
    EXPECT_EQ(pages.left(), row.left) << row.what;
    EXPECT_EQ(pages.query().after_id, row.after_id) << row.what;
    EXPECT_EQ(pages.query().before_id.value_or(0), row.before_id) << row.what;
    EXPECT_EQ(pages.query().limit, row.next_limit) << row.what;
  }
}

}  // namespace
}  // namespace det::master
