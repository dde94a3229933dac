#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

class EnvironmentContract : public StoreContract {
 protected:
  static EnvironmentRecord environment(std::int64_t trial, std::int64_t run, int rank, std::string digest) {
    return {.trial_id = TrialId(trial),
            .run_id = run,
            .rank = rank,
            .digest = digest,
            .environment = {{"packages", {"torch==2.11.0"}}, {"made", digest}},
            .report_time = Time{run * 10}};
  }
  std::int64_t kept() { return count("SELECT COUNT(*) FROM environments"); }
};

TEST_P(EnvironmentContract, TheNewestRunComesFirstAndEarlierOnesStay) {
  commit(AddEnvironment{environment(1, 1, 0, "a")}, AddEnvironment{environment(1, 2, 1, "c")},
         AddEnvironment{environment(1, 2, 0, "b")}, AddEnvironment{environment(2, 1, 0, "a")});
  reopen();
  const auto of_trial = store->environments(TrialId(1));
  ASSERT_EQ(of_trial.size(), 3u);
  EXPECT_TRUE(same(of_trial[0], environment(1, 2, 0, "b")));
  EXPECT_TRUE(same(of_trial[1], environment(1, 2, 1, "c")));
  EXPECT_TRUE(same(of_trial[2], environment(1, 1, 0, "a")));
  EXPECT_TRUE(store->environments(TrialId(3)).empty());
}

TEST_P(EnvironmentContract, WhatAProcessSaysLastCounts) {
  commit(AddEnvironment{environment(1, 1, 0, "a")}, AddEnvironment{environment(2, 1, 0, "shared")});
  commit(AddEnvironment{environment(1, 1, 0, "b")});
  ASSERT_EQ(store->environments(TrialId(1)).size(), 1u);
  EXPECT_EQ(store->environments(TrialId(1))[0].digest, "b");
  EXPECT_EQ(kept(), 2) << "nobody has the first one";
  commit(AddEnvironment{environment(1, 1, 0, "b")});
  commit(AddEnvironment{environment(2, 1, 0, "b")}, AddEnvironment{environment(1, 1, 0, "c")});
  EXPECT_EQ(store->environments(TrialId(2))[0].digest, "b") << "it is not deleted with its first owner's";
  EXPECT_EQ(kept(), 2);
}

TEST_P(EnvironmentContract, IsCopiedFromAnAllocationOfTheSameExperimentOnly) {
  commit(PutTrial{sample_trial(1, 1)}, PutTrial{sample_trial(2, 1)}, PutTrial{sample_trial(3, 2)});
  experiment::AllocationRecord first;
  first.id = first.task_id = "1.x";
  first.experiment_id = ExperimentId(1);
  first.trial_id = TrialId(1);
  first.run_id = 4;
  const Time time{77};
  commit(PutAllocation{first}, AddEnvironment{environment(1, 4, 0, "a")},
         AddEnvironment{environment(1, 4, 1, "other rank")}, AddEnvironment{environment(1, 3, 0, "earlier")});
  commit(CopyEnvironment{TrialId(2), 5, "1.x", time}, CopyEnvironment{TrialId(3), 1, "1.x", time},
         CopyEnvironment{TrialId(2), 6, "unknown", time});
  const auto copied = store->environments(TrialId(2));
  ASSERT_EQ(copied.size(), 1u);
  EXPECT_EQ(copied[0].digest, "a");
  EXPECT_EQ(copied[0].run_id, 5);
  EXPECT_EQ(copied[0].rank, 0);
  EXPECT_EQ(copied[0].report_time, time);
  EXPECT_TRUE(store->environments(TrialId(3)).empty());
  commit(AddEnvironment{environment(2, 5, 0, "own")}, CopyEnvironment{TrialId(2), 5, "1.x", time});
  EXPECT_EQ(store->environments(TrialId(2))[0].digest, "own") << "what it says itself counts";
}

TEST_P(EnvironmentContract, AThousandTrialsShareOneAndItGoesWithTheLastOfThem) {
  commit(PutExperiment{sample_experiment(1)}, PutExperiment{sample_experiment(2)});
  for (int trial = 1; trial <= 1000; ++trial)
    store->commit({PutTrial{sample_trial(trial, trial == 1000 ? 2 : 1)},
                   AddEnvironment{environment(trial, 1, 0, "shared")}},
                  [] {});
  commit(AddEnvironment{environment(7, 2, 0, "alone")});
  EXPECT_EQ(kept(), 2);
  commit(DeleteExperiment{ExperimentId(1)});
  EXPECT_EQ(kept(), 1);
  EXPECT_TRUE(store->environments(TrialId(7)).empty());
  EXPECT_EQ(store->environments(TrialId(1000)).size(), 1u);
  commit(DeleteExperiment{ExperimentId(2)});
  EXPECT_EQ(kept(), 0);
}

INSTANTIATE_TEST_SUITE_P(, EnvironmentContract, kBackends, [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace det::store
