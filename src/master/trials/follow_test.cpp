// Whoever waits for news gets it when it comes, not when its patience ends.

#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "det/master/testing.h"

namespace det::master {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Far below the time after which a follower looks by itself.
constexpr auto kSoon = 6s;

/// The lines of a stream that follows something, read by a thread of its own.
class Follower {
 public:
  Follower(http::Url url, http::Headers headers, std::string path) : client_(std::move(url)) {
    thread_ = std::thread([this, headers = std::move(headers), path = std::move(path)] {
      http::Call call{.path = path, .headers = headers};
      call.timeout = 60s;
      call.on_line = [this](std::string_view line) {
        const std::lock_guard lock(mutex_);
        lines_.emplace_back(line);
        news_.notify_all();
        return true;
      };
      (void)client_.request(std::move(call));
      const std::lock_guard lock(mutex_);
      over_ = true;
      news_.notify_all();
    });
  }
  ~Follower() {
    client_.cancel();
    thread_.join();
  }
  bool has(std::size_t count) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, kSoon, [&] { return lines_.size() >= count; });
  }
  bool has(const std::string& text) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, kSoon, [&] {
      return std::any_of(lines_.begin(), lines_.end(),
                         [&](const auto& line) { return line.find(text) != std::string::npos; });
    });
  }
  bool over() {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, kSoon, [&] { return over_; });
  }
  std::size_t lines() {
    const std::lock_guard lock(mutex_);
    return lines_.size();
  }
  std::string all() {
    const std::lock_guard lock(mutex_);
    return fmt::format("{}", fmt::join(lines_, "\n"));
  }

 private:
  http::Client client_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::string> lines_;
  bool over_ = false;
  std::thread thread_;
};

class FollowTest : public testing::MasterTest {
 protected:
  FollowTest() { log_ = std::make_shared<LogRing>(); }

  api::DesiredAllocation running() {
    submit();
    return sync("a", 1).desired.at(0);
  }
  testing::Answer line(const api::DesiredAllocation& task, std::int64_t sequence, const std::string& text) {
    api::LogBatch batch{.allocation_id = task.allocation_id, .entries = {}};
    batch.entries.push_back({.rank = 0, .stdtype = "stdout", .sequence = sequence, .log = text});
    return call(agent_token(), "POST", "/api/v1/agents/a/logs", http::to_wire(batch));
  }
};

TEST_F(FollowTest, APageHearsWhatChanged) {
  const auto task = running();
  const auto path =
      fmt::format("/api/v1/changes/follow?experimentIds={}&trialIds={}", task.experiment_id, task.trial_id);
  Follower page(url_, headers(user_), path),
      list(url_, headers(user_), "/api/v1/changes/follow?experiments=true");
  ASSERT_TRUE(page.has(std::size_t{1}) && list.has(std::size_t{1}))
      << "the first line says that it has begun";
  EXPECT_EQ(page.all(), R"({"result":{"changed":[]}})");
  report(task, "training", 10, 0.5);
  ASSERT_TRUE(page.has(fmt::format("\"trial {}\"", task.trial_id))) << page.all();
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/pause", task.experiment_id));
  EXPECT_TRUE(page.has(fmt::format("\"experiment {}\"", task.experiment_id))) << page.all();
  EXPECT_TRUE(list.has(R"(["experiments"])")) << list.all();
  EXPECT_EQ(list.all().find("trial"), std::string::npos) << "what was not asked for";
}

TEST_F(FollowTest, APageHearsThatWhatRunsHasChanged) {
  Follower page(url_, headers(user_), "/api/v1/changes/follow?cluster=true");
  ASSERT_TRUE(page.has(std::size_t{1}));
  const auto lines_after = [&](const auto& change) {
    const auto before = page.lines();
    change();
    return page.has(before + 1);
  };
  EXPECT_TRUE(lines_after([&] { sync("a", 1); })) << "an agent joins: " << page.all();
  EXPECT_TRUE(lines_after([&] { submit(); })) << "the queue grows: " << page.all();
  EXPECT_TRUE(page.has(R"(["cluster"])")) << page.all();
}

TEST_F(FollowTest, WhatToHearOfMustBeSaid) {
  const auto answer = call(user_, "GET", "/api/v1/changes/follow");
  EXPECT_NE(answer.text.find("0 things are asked for; name from 1 to 1000"), std::string::npos)
      << answer.text;
  EXPECT_EQ(call("", "GET", "/api/v1/changes/follow?experiments=true").status, 401);
}

// The second report of a round comes while the follower reads because of the first.
TEST_F(FollowTest, NoReportIsMissedHoweverCloseItComesToAnother) {
  const auto task = running();
  Follower follower(url_, headers(user_), fmt::format("/api/v1/trials/{}/metrics/follow", task.trial_id));
  for (std::int64_t round = 0; round < 30; ++round) {
    std::thread other([&] { report(task, "validation", 10 * round + 10, 0.5); });
    report(task, "training", 10 * round + 10, 0.5);
    other.join();
    ASSERT_TRUE(follower.has("\"totalBatches\":" + std::to_string(10 * round + 10))) << "in round " << round;
    std::size_t lines = 0, reports = 0;
    for (auto end = Clock::now() + kSoon;
         reports < static_cast<std::size_t>(2 * round + 2) && Clock::now() < end;
         std::this_thread::sleep_for(1ms)) {
      const auto text = follower.all();
      reports = 0;
      for (std::size_t at = 0; (at = text.find("\"totalBatches\"", at)) != std::string::npos; ++at) ++reports;
      lines = text.size();
    }
    ASSERT_EQ(reports, static_cast<std::size_t>(2 * round + 2)) << "in round " << round << " of " << lines;
  }
}

TEST_F(FollowTest, FollowersOfMetricsAndLogsEndWithTheTrialAndHaveItsLastWord) {
  const auto task = running();
  Follower metrics(url_, headers(user_), fmt::format("/api/v1/trials/{}/metrics/follow", task.trial_id));
  Follower logs(url_, headers(user_), fmt::format("/api/v1/trials/{}/logs?follow=true", task.trial_id));
  ASSERT_EQ(report(task, "training", 10, 0.5).status, 200);
  ASSERT_EQ(line(task, 0, "hello").status, 200);
  ASSERT_TRUE(metrics.has(std::size_t{1}));
  ASSERT_TRUE(logs.has("hello"));
  exit("a", 1, task.allocation_id, 3);
  const auto again = sync("a", 1).desired;
  ASSERT_EQ(again.size(), 1u) << "max_restarts is 1";
  exit("a", 1, again[0].allocation_id, 3);
  EXPECT_TRUE(metrics.over());
  EXPECT_TRUE(logs.over());
  EXPECT_TRUE(logs.has("it was restarted once")) << logs.all();
}

TEST_F(FollowTest, ALongCurveIsThinnedOutForAChartWhichKeepsThePeakAndGoesOn) {
  const auto task = running();
  for (int batches = 1; batches <= 300; ++batches)
    ASSERT_EQ(report(task, "training", batches, batches == 111 ? 77.5 : 0.5 / batches).status, 200);
  const auto count = [](const std::string& text) {
    std::size_t reports = 0;
    for (std::size_t at = 0; (at = text.find("\"totalBatches\"", at)) != std::string::npos; ++at) ++reports;
    return reports;
  };
  const auto path = fmt::format("/api/v1/trials/{}/metrics/follow?maxDatapoints=20", task.trial_id);
  Follower follower(url_, headers(user_), path);
  ASSERT_TRUE(follower.has("\"totalBatches\":300"));
  EXPECT_TRUE(follower.has("77.5"));
  EXPECT_TRUE(follower.has("\"totalBatches\":1,"));
  EXPECT_LE(count(follower.all()), 23u);
  ASSERT_EQ(report(task, "training", 301, 0.25).status, 200);
  EXPECT_TRUE(follower.has("\"totalBatches\":301"));
  const auto series = [&](const std::string& query) {
    return call(user_, "GET", fmt::format("/api/v1/trials/time-series?trialIds={}{}", task.trial_id, query))
        .text;
  };
  const std::string peak = R"("batches":111,"values":{"loss":77.5})";
  EXPECT_NE(series("&maxDatapoints=20").find(peak), std::string::npos) << series("&maxDatapoints=20");
  EXPECT_EQ(series("&maxDatapoints=20&startBatches=112").find(peak), std::string::npos);
  EXPECT_NE(series("&startBatches=111&endBatches=111").find(peak), std::string::npos);
  const auto all =
      call(user_, "GET", fmt::format("/api/v1/trials/metrics/training_metrics?trialIds={}", task.trial_id));
  EXPECT_EQ(count(all.text), 301u);
}

TEST_F(FollowTest, TheNoteOfAFailureIsFiledUnderTheRunThatFailed) {
  const auto task = running();
  exit("a", 1, task.allocation_id, 3);
  const auto log = call(user_, "GET", fmt::format("/api/v1/trials/{}/logs", task.trial_id)).text;
  const auto at = log.find("failed: rank 0 exited with status 3");
  ASSERT_NE(at, std::string::npos) << log;
  const auto begin = log.rfind('\n', at) + 1;
  const auto note = log.substr(begin, log.find('\n', at) - begin);
  EXPECT_NE(note.find("\"allocationId\":\"" + task.allocation_id + "\""), std::string::npos) << note;
}

TEST_F(FollowTest, LinesOfTheLogArriveWhenTheyAreWritten) {
  const auto task = running();
  Follower follower(url_, headers(user_), fmt::format("/api/v1/trials/{}/logs?follow=true", task.trial_id));
  ASSERT_TRUE(follower.has(std::size_t{1}));
  for (std::int64_t i = 0; i < 50; ++i) {
    ASSERT_EQ(line(task, i, fmt::format("line {}.", i)).status, 200);
    ASSERT_TRUE(follower.has(fmt::format("line {}.", i)));
  }
}

TEST_F(FollowTest, LinesOfTheMastersOwnLogArriveWhenTheyAreWritten) {
  stop();  // it was made without a log
  start();
  const auto logger = std::make_shared<spdlog::logger>("test", log_);
  Follower follower(url_, headers(user_), "/api/v1/master/logs?follow=true");
  for (int i = 0; i < 20; ++i) {
    logger->info("own line {}.", i);
    ASSERT_TRUE(follower.has(fmt::format("own line {}.", i)));
  }
}

TEST_F(FollowTest, WhoWaitsForPreemptionIsToldAtOnceOfItAndOfTheEnd) {
  const auto task = running();
  const auto path =
      fmt::format("/api/v1/allocations/{}/signals/preemption?timeoutSeconds=60", task.allocation_id);
  auto waiting = std::async(std::launch::async, [&] { return call(task.token, "GET", path); });
  std::this_thread::sleep_for(300ms);
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/pause", task.experiment_id));
  ASSERT_EQ(waiting.wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(waiting.get().body, (json::value{{"preempt", true}, {"preemption", "1"}}));
}

TEST_F(FollowTest, WhoHasSavedWhenItIsPausedWaitsAndIsToldToGoOn) {
  const auto task = running();
  const auto path = fmt::format("/api/v1/allocations/{}/signals/", task.allocation_id);
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/pause", task.experiment_id));
  const auto said = call(task.token, "POST", path + "ack_preemption",
                         json::value{{"canWait", true}, {"preemption", 1}}.get_object());
  ASSERT_EQ(said.status, 200) << said.text;
  EXPECT_EQ(call(task.token, "GET", path + "wish?preemption=1").body, (json::value{{"wish", "WAIT"}}));
  EXPECT_EQ(call(user_, "GET", "/api/v1/agents").text.find("\"container\":{"), std::string::npos);
  auto waiting = std::async(std::launch::async, [&] {
    return call(task.token, "GET", path + "wish?preemption=1&timeoutSeconds=60");
  });
  std::this_thread::sleep_for(300ms);
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/activate", task.experiment_id));
  ASSERT_EQ(waiting.wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(waiting.get().body, (json::value{{"wish", "GO_ON"}}));
  EXPECT_EQ(call(task.token, "GET", path + "preemption").body,
            (json::value{{"preempt", false}, {"preemption", "1"}}));
}

}  // namespace
}  // namespace det::master
