#include "det/master/administration/cluster_message.h"

#include <gmock/gmock.h>

namespace det::master {
namespace {

using ::testing::HasSubstr;

constexpr Time at_second(std::int64_t seconds) {
  return Time{seconds * kSecond};
}

TEST(ClusterMessage, StartsNowAndEndsWhenItsDurationIsOver) {
  const auto none = std::optional<Time>();
  struct Row {
    std::optional<Time> start, end;
    const char* duration;
    Time starts;
    std::optional<Time> ends;
    const char* problem;
  };
  // clang-format off
  const Row rows[] = {
      // start         end            duration   starts          ends               problem
      {none,           none,          "",        at_second(100), none,              ""},
      {at_second(200), none,          "",        at_second(200), none,              ""},
      {none,           at_second(150), "",       at_second(100), at_second(150),    ""},
      {none,           at_second(100), "",       at_second(100), at_second(100),    ""},
      {none,           at_second(99), "",        {},             none,              "the message ends before it starts"},
      {at_second(200), at_second(150), "",       {},             none,              "the message ends before it starts"},
      {none,           none,          "90s",     at_second(100), at_second(190),    ""},
      {none,           none,          "24h",     at_second(100), at_second(86'500), ""},
      {at_second(200), none,          "1h30m",   at_second(200), at_second(5'600),  ""},
      {none,           none,          "1.5m",    at_second(100), at_second(190),    ""},
      {none,           at_second(50), "90s",     at_second(100), at_second(190),    ""},
      {none,           none,          "0s",      {},             none,              "duration is '0s'"},
      {none,           none,          "90",      {},             none,              "duration is '90'"},
      {none,           none,          "1d",      {},             none,              "duration is '1d'"},
      {none,           none,          "-1h",     {},             none,              "duration is '-1h'"},
      {none,           none,          "h",       {},             none,              "duration is 'h'"},
      {none,           none,          "1h 30m",  {},             none,              "duration is '1h 30m'"},
      {none,           none,          "9999999h", {},            none,              "duration is '9999999h'"}};
  // clang-format on
  for (const auto& row : rows) {
    const auto message = new_cluster_message(
        {.message = "maintenance", .start_time = row.start, .end_time = row.end, .duration = row.duration},
        at_second(100));
    ASSERT_EQ(message.has_value(), std::string(row.problem).empty()) << row.duration;
    if (!message) {
      EXPECT_THAT(message.error().message(), HasSubstr(row.problem));
      continue;
    }
    EXPECT_EQ(message->message, "maintenance");
    EXPECT_EQ(message->created_time, at_second(100));
    EXPECT_EQ(message->start_time, row.starts) << row.duration;
    EXPECT_EQ(message->end_time, row.ends) << row.duration;
  }
}

TEST(ClusterMessage, HasAtMostTwoHundredAndFiftyBytes) {
  const auto fits = [](std::size_t bytes) {
    ClusterMessagePutRequest request;
    request.message = std::string(bytes, 'x');
    return new_cluster_message(std::move(request), Time{}).has_value();
  };
  EXPECT_FALSE(fits(0));
  EXPECT_TRUE(fits(1));
  EXPECT_TRUE(fits(250));
  EXPECT_FALSE(fits(251));
}

TEST(ClusterMessage, IsShownFromItsStartUntilItsEnd) {
  struct Row {
    std::int64_t now;
    bool with_end, without_end;
  };
  // clang-format off
  const Row rows[] = {
      {99,  false, false},
      {100, true,  true},
      {149, true,  true},
      {150, false, true}};
  // clang-format on
  Message open{.message = "m", .start_time = at_second(100), .end_time = {}, .created_time = {}};
  auto ends = open;
  ends.end_time = at_second(150);
  for (const auto& row : rows) {
    EXPECT_EQ(is_shown(ends, at_second(row.now)), row.with_end) << row.now;
    EXPECT_EQ(is_shown(open, at_second(row.now)), row.without_end) << row.now;
  }
}

}  // namespace
}  // namespace det::master
