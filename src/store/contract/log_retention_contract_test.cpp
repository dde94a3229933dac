// What every kind of database must do with logs that are kept no longer.

#include <gmock/gmock.h>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LogRetentionContract : public StoreContract {
 protected:
  std::vector<std::string> texts(const LogQuery& query) {
    std::vector<std::string> all;
    for (const auto& r : store->logs(query)) all.push_back(r.log);
    return all;
  }
  void add(const std::string& task, int from, int lines) {
    AddLogs logs{"stream of " + task, from, {}};
    for (int i = from; i < from + lines; ++i) logs.lines.push_back(line(task, std::to_string(i)));
    commit(logs);
  }
  TrialRecord put_trial(std::int64_t id, std::int64_t experiment, std::optional<Time> ended) {
    TrialRecord r;
    r.id = TrialId{id};
    r.experiment_id = ExperimentId{experiment};
    r.task_id = "task" + std::to_string(id);
    r.end_time = ended;
    commit(PutTrial{r});
    return r;
  }
};

INSTANTIATE_TEST_SUITE_P(, LogRetentionContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(LogRetentionContract, WhatIsDroppedIsGoneAtOnceForGoodAndNothingElseIs) {
  add("a", 0, 5000);
  add("b", 0, 3);
  const auto last = store->logs({.task_id = "a", .limit = 1, .descending = true}).at(0).id;
  commit(DropLogs{{"a", "nobody"}});
  EXPECT_THAT(texts({.task_id = "a"}), IsEmpty()) << "though rows of it may be there";
  EXPECT_THAT(texts({.task_id = "a", .search = "4999"}), IsEmpty());
  EXPECT_THAT(texts({.task_id = "b"}), ElementsAre("0", "1", "2"));
  add("a", 0, 5000);  // sent again by an agent that missed the answer
  EXPECT_THAT(texts({.task_id = "a"}), IsEmpty());
  add("a", 5000, 1);
  reopen();
  const auto left = store->logs({.task_id = "a"});
  ASSERT_EQ(left.size(), 1u) << "what came later stays";
  EXPECT_EQ(left[0].log, "5000");
  EXPECT_GT(left[0].id, last) << "ids are not given twice: followers go by them";
  while (store->count_log_lines({"a"}) != 1) store->flush();
  EXPECT_EQ(store->count_log_lines({"a", "b", "nobody"}), 4);
}

TEST_P(LogRetentionContract, OnlyLogsOfWhatIsOverAreFoundAndOnlyOnce) {
  const auto end = Time{1'700'000'000'000'000};
  put_trial(1, 1, end);
  put_trial(2, 1, std::nullopt);
  put_trial(3, 1, end);
  add("task1", 0, 3);
  add("task2", 0, 3);
  const auto found = store->ended_logs();
  ASSERT_EQ(found.size(), 1u) << "the third has no lines";
  EXPECT_EQ(found[0].task_id, "task1");
  EXPECT_EQ(found[0].trial, TrialId{1});
  EXPECT_EQ(found[0].ended, end);
  EXPECT_EQ(found[0].days, std::nullopt);
  commit(DropLogs{{"task1"}});
  EXPECT_THAT(store->ended_logs(), IsEmpty());
}

TEST_P(LogRetentionContract, TheTrialSaysMoreThanItsExperimentUntilTheExperimentSpeaksAgain) {
  put_trial(1, 7, std::nullopt);
  EXPECT_EQ(store->log_retention(TrialId{1}), std::nullopt);
  commit(SetLogRetention{.experiment = ExperimentId{7}, .trial = std::nullopt, .days = 30});
  EXPECT_EQ(store->log_retention(TrialId{1}), 30);
  commit(SetLogRetention{.experiment = std::nullopt, .trial = TrialId{1}, .days = 0});
  EXPECT_EQ(store->log_retention(TrialId{1}), 0);
  reopen();
  commit(SetLogRetention{.experiment = ExperimentId{7}, .trial = std::nullopt, .days = -1});
  EXPECT_EQ(store->log_retention(TrialId{1}), -1);
}

TEST_P(LogRetentionContract, TheConfigurationSpeaksFirstAndOnlyOnce) {
  ExperimentRecord r;
  r.id = ExperimentId{7};
  r.config = {{"retention_policy", {{"log_retention_days", 5}}}};
  commit(PutExperiment{r});
  put_trial(1, 7, std::nullopt);
  EXPECT_EQ(store->log_retention(TrialId{1}), 5);
  commit(SetLogRetention{.experiment = ExperimentId{7}, .trial = std::nullopt, .days = 9});
  commit(PutExperiment{r});
  EXPECT_EQ(store->log_retention(TrialId{1}), 9);
}

}  // namespace
}  // namespace det::store
