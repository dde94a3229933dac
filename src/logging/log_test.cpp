#include "det/logging/log.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

namespace det::logging {
namespace {

class LogTest : public testing::Test {
 protected:
  LogTest() {
    auto logger =
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(text_));
    logger->set_pattern("%l: %v");
    spdlog::set_default_logger(logger);
  }
  ~LogTest() override { spdlog::set_default_logger(before_); }

  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream text_;
};

TEST_F(LogTest, WritesALineOfEachLevelThatTheLoggerLetsThrough) {
  debug("{}", "too much");
  info("agent {} joined with {} slots", "a", 2);
  warn("{:.1f} s late", 0.25);
  error("no {{braces}} left");
  EXPECT_EQ(text_.str(), "info: agent a joined with 2 slots\nwarning: 0.2 s late\nerror: no {braces} left\n");
}

TEST_F(LogTest, TextOfUsersIsNeverAFormat) {
  info("{}", "{0} {} %v");
  EXPECT_EQ(text_.str(), "info: {0} {} %v\n");
}

}  // namespace
}  // namespace det::logging
