#include "det/forecast/queue_forecast.h"

#include <gtest/gtest.h>

namespace det::forecast {
namespace {

using scheduler::Policy;
using scheduler::Request;

/// An agent whose first slots are held by running requests.
class QueueForecast : public ::testing::Test {
 protected:
  QueueForecast() { question_.options.policy = Policy::Fifo; }

  void agent(int slots) {
    scheduler::Agent one{.id = "a"};
    for (int i = 0; i < slots; ++i) one.slots.push_back({.id = i});
    question_.agents = {std::move(one)};
  }
  Request& request(const std::string& job, int slots, bool runs = false) {
    Request one{.allocation_id = fmt::format("{}.{}", job, question_.requests.size()),
                .group = job,
                .slots = slots,
                .submitted = Time{} + kSecond * static_cast<std::int64_t>(question_.requests.size()),
                .running = runs};
    if (runs) {
      scheduler::Share share{.agent = "a", .slots = {}};
      for (auto& slot : question_.agents.front().slots)
        if (!slot.used && static_cast<int>(share.slots.size()) < slots) {
          slot.used = true;
          share.slots.push_back(slot.id);
        }
      one.held = {std::move(share)};
    }
    question_.requests.push_back(std::move(one));
    return question_.requests.back();
  }
  JobOutlook outlook(const std::string& job) { return queue_forecast(question_).at(job); }

  QueueQuestion question_;
};

TEST_F(QueueForecast, WhoWaitsStartsWhenThoseBeforeItHaveEnded) {
  agent(2);
  request("runs", 2, true);
  request("next", 1);
  request("other", 1);
  request("last", 2);
  question_.work = {{"runs", 20}, {"next", 5}, {"other", 7}, {"last", 8}};
  EXPECT_EQ(outlook("runs"), (JobOutlook{.start = {}, .end = 10}));
  EXPECT_EQ(outlook("next"), (JobOutlook{.start = 10, .end = 15}));
  EXPECT_EQ(outlook("other"), (JobOutlook{.start = 10, .end = 17}));
  EXPECT_EQ(outlook("last"), (JobOutlook{.start = 17, .end = 21})) << "8 slot-seconds on 2 slots";
}

TEST_F(QueueForecast, BehindAJobWithoutAnEndNothingIsInSightUnlessThereIsRoom) {
  agent(2);
  request("notebook", 1, true);
  request("wide", 2);
  request("narrow", 1);
  question_.work = {{"wide", 4}, {"narrow", 3}};
  EXPECT_EQ(outlook("wide"), JobOutlook{});
  EXPECT_EQ(outlook("narrow"), JobOutlook{}) << "first in, first out";
  question_.options.policy = Policy::RoundRobin;
  EXPECT_EQ(outlook("narrow").start, 0);
}

TEST_F(QueueForecast, TrialsOfOneJobShareItsWorkAndTheLastIsItsEnd) {
  agent(1);
  for (int i = 0; i < 3; ++i) request("search", 1);
  request("after", 1);
  question_.work = {{"search", 30}, {"after", 1}};
  EXPECT_EQ(outlook("search"), (JobOutlook{.start = 0, .end = 30}));
  EXPECT_EQ(outlook("after"), (JobOutlook{.start = 30, .end = 31}));
}

TEST_F(QueueForecast, WhoGivesWayGoesOnWhereItStopped) {
  agent(1);
  request("low", 1, true).priority = 50;
  request("high", 1).priority = 10;
  question_.options = {.policy = Policy::Priority, .preemption = true};
  question_.work = {{"low", 10}, {"high", 4}};
  EXPECT_EQ(outlook("high"), (JobOutlook{.start = 0, .end = 4}));
  EXPECT_EQ(outlook("low"), (JobOutlook{.start = 4, .end = 14}));
}

TEST_F(QueueForecast, ARangeOfSlotsTakesWhatIsFree) {
  agent(4);
  auto& range = request("range", 1);
  range.slot_counts = {1, 2, 4};
  question_.work = {{"range", 8}};
  EXPECT_EQ(outlook("range"), (JobOutlook{.start = 0, .end = 2}));
}

TEST_F(QueueForecast, WhoGivesUpKnowsWhatRuns) {
  agent(1);
  request("runs", 1, true);
  request("next", 1);
  question_.work = {{"runs", 5}, {"next", 5}};
  const auto outlooks = queue_forecast(question_, [] { return true; });
  EXPECT_EQ(outlooks.at("runs").end, 5);
  EXPECT_EQ(outlooks.at("next"), JobOutlook{});
}

}  // namespace
}  // namespace det::forecast
