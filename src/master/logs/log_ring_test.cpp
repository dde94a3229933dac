#include "det/master/logs/log_ring.h"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

namespace det::master {
namespace {

struct Log {
  std::shared_ptr<LogRing> ring = std::make_shared<LogRing>();
  spdlog::logger logger{"test", ring};
};

TEST(LogRing, GivesWhatWasLoggedInOrderWithItsLevel) {
  Log log;
  log.logger.info("agent {} is connected", "a");
  log.logger.warn("agent a was not heard");
  const auto lines = log.ring->read(0, 10);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "agent a is connected");
  EXPECT_EQ(lines[0].level, "INFO");
  EXPECT_EQ(lines[1].id, 1);
  EXPECT_EQ(lines[1].level, "WARNING");
  EXPECT_GT(lines[1].time, Time{});
  EXPECT_EQ(log.ring->end(), 2);
}

TEST(LogRing, ReadsFromAnyLineAndNoMoreThanAsked) {
  Log log;
  for (int i = 0; i < 10; ++i) log.logger.info("{}", i);
  EXPECT_EQ(log.ring->read(8, 100).front().text, "8");
  EXPECT_EQ(log.ring->read(3, 2).back().text, "4");
  EXPECT_EQ(log.ring->read(-5, 1).front().text, "0");
  EXPECT_TRUE(log.ring->read(10, 100).empty());
  EXPECT_TRUE(log.ring->read(1'000, 100).empty());
}

TEST(LogRing, KeepsOnlyTheNewestLines) {
  Log log;
  for (std::size_t i = 0; i < LogRing::kLinesMax + 5; ++i) log.logger.info("{}", i);
  const auto lines = log.ring->read(0, LogRing::kLinesMax * 2);
  EXPECT_EQ(lines.size(), LogRing::kLinesMax);
  EXPECT_EQ(lines.front().id, 5);
}

TEST(LogRing, CutsLongLinesBetweenCharacters) {
  Log log;
  std::string text = "x";
  while (text.size() < LogRing::kLineBytesMax * 2) text += "\xc3\xa9";
  log.logger.info(text);
  log.logger.info("\xff");
  const auto lines = log.ring->read(0, 2);
  EXPECT_LT(lines[0].text.size(), LogRing::kLineBytesMax + 10);
  EXPECT_TRUE(lines[0].text.ends_with("\xc3\xa9 […]"));
  EXPECT_TRUE(lines[1].text.starts_with("(not UTF-8"));
}

}  // namespace
}  // namespace det::master
