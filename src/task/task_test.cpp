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
  task.running(at(0));
  return task;
}

TEST(Task, GoesFromTheQueueToItsEnd) {
  auto task = submitted();
  EXPECT_EQ(task.record().state, State::Queued);
  EXPECT_EQ(task.allocation(), "t.1");
  task.running(at(0));
  EXPECT_EQ(task.record().state, State::Queued) << "what has no slots does not run";
  task.placed();
  EXPECT_EQ(task.record().state, State::Starting);
  task.running(at(0));
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
      EXPECT_EQ(task.kill("killed by user ada", at(0)), Wish::Stop);
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
  EXPECT_EQ(task.kill("killed by user ada", at(0)), Wish::Stop);
  EXPECT_EQ(task.kill("killed by user grace", at(0)), Wish::Nothing);
  EXPECT_EQ(task.record().state, State::Terminating);
  task.ended({.code = 143, .signal = 15}, at(1));
  EXPECT_EQ(task.record().exit_status, "killed by user ada");
  EXPECT_EQ(task.kill("again", at(2)), Wish::Nothing);
  EXPECT_EQ(task.ended({.code = 1}, at(2)), Wish::Nothing);
  EXPECT_EQ(task.record().end_time, at(1)) << "over is over";
}

Task generic(bool no_pause = false) {
  Task task({.id = "t", .type = Type::Generic, .no_pause = no_pause});
  EXPECT_EQ(task.submitted(), Wish::Start);
  task.placed();
  task.running(at(0));
  return task;
}

TEST(Task, APausedGenericTaskRunsAgainAsANewAllocation) {
  auto task = generic();
  EXPECT_EQ(task.pause(), Wish::GiveWay);
  EXPECT_EQ(task.record().state, State::Pausing);
  EXPECT_EQ(task.pause(), Wish::Nothing);
  EXPECT_EQ(task.ended({.code = 143, .signal = 15, .asked = true}, at(1)), Wish::Nothing);
  EXPECT_EQ(task.record().state, State::Paused);
  EXPECT_EQ(task.allocation(), "");
  EXPECT_FALSE(task.record().end_time);
  EXPECT_EQ(task.unpause(), Wish::Start);
  EXPECT_EQ(task.record().state, State::Queued);
  EXPECT_EQ(task.allocation(), "t.2");
  EXPECT_EQ(task.unpause(), Wish::Nothing);
}

TEST(Task, UnpausedWhileItStopsItRunsAgainAndPausedThenItDoesNot) {
  auto task = generic();
  ASSERT_TRUE(task.pause());
  EXPECT_EQ(task.unpause(), Wish::Nothing);
  EXPECT_EQ(task.record().state, State::Yielding);
  EXPECT_EQ(task.ended({.asked = true}, at(1)), Wish::Start);
  EXPECT_EQ(task.allocation(), "t.2");
  EXPECT_EQ(task.yield(), Wish::GiveWay);
  EXPECT_EQ(task.pause(), Wish::Nothing);
  task.ended({.asked = true}, at(2));
  EXPECT_EQ(task.record().state, State::Paused);
}

TEST(Task, WhatEndsByItselfWhileItIsAskedToGiveWayIsOver) {
  for (const bool yields : {false, true})
    for (const int code : {0, 3}) {
      auto task = generic();
      if (yields)
        task.yield();
      else
        ASSERT_TRUE(task.pause());
      EXPECT_EQ(task.ended({.code = code}, at(1)), Wish::Nothing);
      EXPECT_EQ(task.record().state, State::Terminated);
      EXPECT_EQ(task.record().exit_code, code);
    }
}

TEST(Task, KilledWhileItIsPausedItIsOverAtOnce) {
  auto task = generic();
  ASSERT_TRUE(task.pause());
  task.ended({.asked = true}, at(1));
  EXPECT_EQ(task.kill("killed by user ada", at(7)), Wish::Nothing);
  EXPECT_TRUE(task.over());
  EXPECT_TRUE(task.record().killed);
  EXPECT_EQ(task.record().end_time, at(7));
  EXPECT_EQ(task.record().exit_status, "killed by user ada");
}

TEST(Task, KilledWhileItStopsToBePausedItEnds) {
  auto task = generic();
  ASSERT_TRUE(task.pause());
  EXPECT_EQ(task.kill("killed by user ada", at(1)), Wish::Stop);
  EXPECT_EQ(task.pause().error().code(), ErrorCode::FailedPrecondition);
  EXPECT_EQ(task.unpause().error().code(), ErrorCode::FailedPrecondition);
  task.ended({.code = 143, .signal = 15, .asked = true}, at(2));
  EXPECT_EQ(task.record().exit_status, "killed by user ada");
}

TEST(Task, OnlyGenericTasksThatMayBePausedAre) {
  auto command = started();
  EXPECT_EQ(command.pause().error().code(), ErrorCode::FailedPrecondition);
  EXPECT_EQ(command.unpause().error().code(), ErrorCode::FailedPrecondition);
  EXPECT_FALSE(command.can_yield());
  auto fixed = generic(true);
  EXPECT_EQ(fixed.pause().error().code(), ErrorCode::FailedPrecondition);
  EXPECT_FALSE(fixed.can_yield());
  EXPECT_EQ(fixed.record().state, State::Running);
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
  task.kill("because", at(5));
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

TEST(Idleness, OfACommandWithPortsBeginsWhenItRuns) {
  struct Row {
    Type type;
    const char* config;
    bool idle;
  };
  // clang-format off
  const Row rows[] = {{Type::Command,  R"({"environment":{"proxy_ports":[{"proxy_port":80}]}})", true},
                      {Type::Generic,  R"({"environment":{"proxy_ports":[{"proxy_port":80}]}})", true},
                      {Type::Command,  R"({"environment":{"proxy_ports":[]}})",                  false},
                      {Type::Command,  "{}",                                                     false},
                      {Type::Notebook, R"({"environment":{"proxy_ports":[{"proxy_port":80}]}})", false}};
  // clang-format on
  for (const auto& row : rows) {
    TaskRecord record{.type = row.type, .config = json::parse(row.config)->get_object()};
    record.idle_timeout_seconds = 30;
    Task task(record);
    task.placed();
    task.running(at(5));
    EXPECT_EQ(task.idle_since(), row.idle ? std::optional(at(5)) : std::nullopt) << row.config;
  }
}

}  // namespace
}  // namespace det::task
