#include "det/agent/prepare/warm.h"

#include <gtest/gtest.h>

namespace det::agent {
namespace {

using std::chrono::milliseconds;

TEST(HowATrialStarts, DependsOnWhatItsWarmWorkerIsDoing) {
  constexpr milliseconds kPatience{60'000};
  const struct {
    const char* what;
    WarmState worker;
    TrialStart start;
  } cases[] = {
      {"ready", {.ready = true}, TrialStart::Fork},
      {"ready now, after a failure", {.ready = true, .failed = true}, TrialStart::Fork},
      {"began this moment", {.starting = milliseconds(0)}, TrialStart::Wait},
      {"still imports", {.starting = milliseconds(59'999)}, TrialStart::Wait},
      {"takes too long", {.starting = milliseconds(60'000)}, TrialStart::Fresh},
      {"was ready, ended, and starts again", {.starting = milliseconds(10)}, TrialStart::Wait},
      {"failed, and tries again", {.starting = milliseconds(10), .failed = true}, TrialStart::Fresh},
      {"failed, and pauses", {.failed = true}, TrialStart::Fresh},
      {"ended, and pauses", {}, TrialStart::Fresh},
  };
  for (const auto& each : cases) EXPECT_EQ(how_to_start(each.worker, kPatience), each.start) << each.what;
  EXPECT_EQ(how_to_start({.starting = milliseconds(0)}, milliseconds(0)), TrialStart::Fresh) << "never waits";
}

}  // namespace
}  // namespace det::agent
