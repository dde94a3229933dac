#include "det/master/elastic/line_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace det::master {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

const std::vector<std::string> kEcho = {"sh", "-c", "while read line; do echo \"got $line\"; done"};

TEST(LineProgram, AnswersEachLineWithALineAndEndsWhenItIsStopped) {
  LineProgram program;
  ASSERT_TRUE(program.start(kEcho, "/dev/null"));
  EXPECT_EQ(program.ask("one", seconds(10)), "got one");
  EXPECT_EQ(program.ask("two", seconds(10)), "got two");
  const auto pid = program.pid();
  program.stop();
  EXPECT_FALSE(program.running());
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(LineProgram, ALineMayBeLongerThanAPipeHolds) {
  LineProgram program;
  ASSERT_TRUE(program.start({"cat"}, "/dev/null"));
  const std::string line(1'000'000, 'x');
  EXPECT_EQ(program.ask(line, seconds(10)), line);
}

TEST(LineProgram, SaysWhatIsWrongAndCanBeStartedAgain) {
  LineProgram program;
  EXPECT_EQ(program.start({"no-such-program"}, "/dev/null").error().code(), ErrorCode::NotFound);
  EXPECT_EQ(program.start({"/no/such/program"}, "/dev/null").error().code(), ErrorCode::NotFound);
  ASSERT_TRUE(program.start({"true"}, "/dev/null"));
  EXPECT_THAT(program.ask("hello", seconds(10)).error().message(), HasSubstr("it ended"));
  ASSERT_TRUE(program.start({"sleep", "60"}, "/dev/null"));
  EXPECT_THAT(program.ask("hello", std::chrono::milliseconds(50)).error().message(),
              HasSubstr("has not answered"));
  ASSERT_TRUE(program.start(kEcho, "/dev/null"));
  ::kill(program.pid(), SIGKILL);
  EXPECT_EQ(program.ask("hello", seconds(10)).error().code(), ErrorCode::Unavailable);
  ASSERT_TRUE(program.start(kEcho, "/dev/null"));
  EXPECT_EQ(program.ask("again", seconds(10)), "got again");
}

}  // namespace
}  // namespace det::master
