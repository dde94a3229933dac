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

TEST_P(EnvironmentContract, WhatAProcessSaidFirstStays) {
  commit(AddEnvironment{environment(1, 1, 0, "a")});
  commit(AddEnvironment{environment(1, 1, 0, "b")});
  ASSERT_EQ(store->environments(TrialId(1)).size(), 1u);
  EXPECT_EQ(store->environments(TrialId(1))[0].digest, "a");
  EXPECT_EQ(kept(), 1) << "nobody has the one that was refused";
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
