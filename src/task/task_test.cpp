#include "det/task/task.h"

#include <gtest/gtest.h>

namespace det::task {
namespace {

constexpr Time kStart{1'000 * kSecond};
Time at(std::int64_t seconds) {
  return Time{kStart.microseconds + seconds * kSecond};
}

Task submitted(std::optional<std::int64_t> idle_timeout = std::nullopt) {
  Task task({.id = "t", .idle_timeout_seconds = idle_timeout});
  EXPECT_EQ(task.submitted(), Wish::Start);
  return task;
}
Task started(std::optional<std::int64_t> idle_timeout = std::nullopt) {
  auto task = submitted(idle_timeout);
  task.placed();
  task.running();
  return task;
}

TEST(Task, GoesFromTheQueueToItsEnd) {
  auto task = submitted();
  EXPECT_EQ(task.record().state, State::Queued);
  EXPECT_EQ(task.allocation(), "t.1");
  task.running();
  EXPECT_EQ(task.record().state, State::Queued) << "what has no slots does not run";
  task.placed();
  EXPECT_EQ(task.record().state, State::Starting);
  task.running();
  EXPECT_EQ(task.record().state, State::Running);
  EXPECT_EQ(task.ended({}, at(5)), Wish::Nothing);
  EXPECT_EQ(task.record().state, State::Terminated);
  EXPECT_EQ(task.record().end_time, at(5));
  EXPECT_EQ(task.allocation(), "");
}

TEST(Task, SaysHowItEnded) {
  struct Case {
    Exit exit;
    bool killed;
    std::string status;
    std::optional<int> code;
  };
  const Case cases[] = {
      {{.code = 0}, false, "exited with status 0", 0},
      {{.code = 3}, false, "exited with status 3", 3},
      {{.code = 137, .signal = 9}, false, "ended by signal 9", 137},
      {{.code = 137, .signal = 9, .reason = "out of memory"}, false, "out of memory", 137},
      {{.code = 143, .signal = 15}, true, "killed by user ada", 143},
      {{.kind = Exit::Kind::NeverBegan}, true, "killed by user ada", std::nullopt},
      {{.kind = Exit::Kind::Lost, .reason = "agent a was lost"}, false, "agent a was lost", std::nullopt},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.status);
    auto task = started();
    if (c.killed) {
      EXPECT_EQ(task.kill("killed by user ada"), Wish::Stop);
    }
    EXPECT_EQ(task.ended(c.exit, at(1)), Wish::Nothing);
    EXPECT_EQ(task.record().exit_status, c.status);
    EXPECT_EQ(task.record().exit_code, c.code);
  }
}

TEST(Task, WhatNeverBeganRunsAgainUnderANewAllocation) {
  auto task = submitted();
  task.placed();
  EXPECT_EQ(task.ended({.kind = Exit::Kind::NeverBegan}, at(1)), Wish::Start);
  EXPECT_EQ(task.record().state, State::Queued);
  EXPECT_EQ(task.allocation(), "t.2");
  EXPECT_FALSE(task.record().end_time);
}

TEST(Task, IsKilledOnceAndForTheFirstReason) {
  auto task = started();
  EXPECT_EQ(task.kill("killed by user ada"), Wish::Stop);
  EXPECT_EQ(task.kill("killed by user grace"), Wish::Nothing);
  EXPECT_EQ(task.record().state, State::Terminating);
  task.ended({.code = 143, .signal = 15}, at(1));
  EXPECT_EQ(task.record().exit_status, "killed by user ada");
  EXPECT_EQ(task.kill("again"), Wish::Nothing);
  EXPECT_EQ(task.ended({.code = 1}, at(2)), Wish::Nothing);
  EXPECT_EQ(task.record().end_time, at(1)) << "over is over";
}

TEST(Task, ReadyIsWhatRunsAndHasAPort) {
  auto queued = submitted();
  EXPECT_EQ(queued.ready({"h", 1}).error().code(), ErrorCode::FailedPrecondition);
  auto task = started();
  for (const int port : {0, -1, 65536})
    EXPECT_EQ(task.ready({"h", port}).error().code(), ErrorCode::InvalidArgument) << port;
  ASSERT_TRUE(task.ready({"h", 65535}));
  EXPECT_EQ(task.record().address, (Address{"h", 65535}));
  task.ended({}, at(1));
  EXPECT_FALSE(task.record().address) << "nobody answers there any more";
}

TEST(Task, IsIdleForTooLongOnlyWhereItMayNotBe) {
  struct Case {
    const char* what;
    std::optional<std::int64_t> timeout;
    std::optional<std::int64_t> since;
    std::int64_t now;
    bool expected;
  };
  const Case cases[] = {
      {"just before", 30, 0, 29, false},
      {"just then", 30, 0, 30, true},
      {"no limit", std::nullopt, 0, 1'000'000, false},
      {"in use", 30, std::nullopt, 1'000, false},
      {"a moment to come counts as now", 30, 500, 120, false},
      {"a moment to come counts as now, later", 30, 500, 130, true},
  };
  for (const auto& c : cases) {
    auto task = started(c.timeout);
    task.report_idle(c.since ? std::optional(at(*c.since)) : std::nullopt, at(100));
    if (c.since == 0) task.report_idle(at(0), at(100));
    EXPECT_EQ(task.idle_for_too_long(at(c.now)), c.expected) << c.what;
  }
}

TEST(Task, UseEndsIdleness) {
  auto task = started(30);
  task.report_idle(at(0), at(10));
  task.report_idle(std::nullopt, at(20));
  EXPECT_FALSE(task.idle_for_too_long(at(100)));
  task.report_idle(at(90), at(95));
  EXPECT_FALSE(task.idle_for_too_long(at(119)));
  EXPECT_TRUE(task.idle_for_too_long(at(120)));
  EXPECT_EQ(task.idle_reason(), "idle for more than 30s");
}

TEST(Task, ASnapshotHoldsAllOfIt) {
  auto task = started(30);
  ASSERT_TRUE(task.ready({"h", 80}));
  task.report_idle(at(3), at(4));
  task.move_to(17);
  task.kill("because");
  const auto saved = json::from_json<Saved>(*json::parse(json::serialize(json::to_json(save(task)))));
  ASSERT_TRUE(saved) << saved.error().message();
  const auto again = load(*saved);
  EXPECT_EQ(json::serialize(json::to_json(save(again))), json::serialize(json::to_json(save(task))));
  EXPECT_EQ(again.position(), 17);
  EXPECT_EQ(again.idle_since(), at(3));
}

TEST(Task, DurationsReadAsConfigurationsWriteThem) {
  const std::pair<std::int64_t, const char*> cases[] = {
      {0, "0s"}, {30, "30s"}, {60, "1m"}, {90, "1m30s"}, {3600, "1h"}, {3661, "1h1m1s"}, {86400, "24h"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(duration_text(seconds), text);
}

}  // namespace
}  // namespace det::task
