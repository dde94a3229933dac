// What every kind of database must do with checkpoints that are begun and not yet reported.

#include <gmock/gmock.h>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BegunCheckpointContract : public StoreContract {
 protected:
  static BeginCheckpoint begin(const std::string& uuid, std::int64_t experiment,
                               const std::string& allocation = "1.x.1") {
    return {{.uuid = uuid, .experiment_id = ExperimentId{experiment}, .allocation_id = allocation}};
  }
  static PutCheckpoint report(const std::string& uuid, std::int64_t experiment) {
    CheckpointRecord record;
    record.uuid = uuid;
    record.experiment_id = ExperimentId{experiment};
    return {record};
  }
  std::vector<std::string> of_experiment(std::int64_t id) {
    std::vector<std::string> uuids;
    for (const auto& r : store->begun_checkpoints_of_experiment(ExperimentId{id})) uuids.push_back(r.uuid);
    return uuids;
  }
};

INSTANTIATE_TEST_SUITE_P(, BegunCheckpointContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(BegunCheckpointContract, WhatWasBegunSurvivesARestart) {
  commit(begin("b", 1, "1.x.2"), begin("a", 1), begin("c", 2));
  reopen();
  EXPECT_THAT(of_experiment(1), ElementsAre("a", "b"));
  const auto found = store->begun_checkpoint("b");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->experiment_id, ExperimentId{1});
  EXPECT_EQ(found->allocation_id, "1.x.2");
  EXPECT_FALSE(store->begun_checkpoint("d"));
}

TEST_P(BegunCheckpointContract, BeginningAgainChangesNothing) {
  commit(begin("a", 1));
  commit(begin("a", 2, "2.y.1"));
  EXPECT_EQ(store->begun_checkpoint("a")->allocation_id, "1.x.1");
  EXPECT_THAT(of_experiment(2), IsEmpty());
}

TEST_P(BegunCheckpointContract, AReportEndsItAlsoInTheSameCommit) {
  commit(begin("a", 1), begin("b", 1));
  commit(report("a", 1));
  EXPECT_THAT(of_experiment(1), ElementsAre("b"));
  commit(begin("c", 1), report("c", 1));
  EXPECT_THAT(of_experiment(1), ElementsAre("b"));
}

TEST_P(BegunCheckpointContract, WhatWasReportedIsNeverBegunAgain) {
  commit(report("a", 1));
  commit(begin("a", 1));  // its first delivery was slow
  EXPECT_THAT(of_experiment(1), IsEmpty());
}

TEST_P(BegunCheckpointContract, OneOfWhichNothingIsLeftIsForgotten) {
  commit(begin("a", 1), begin("b", 1));
  commit(DropBegunCheckpoint{"a"}, DropBegunCheckpoint{"nobody"});
  EXPECT_THAT(of_experiment(1), ElementsAre("b"));
}

TEST_P(BegunCheckpointContract, TheyGoWithTheirExperiment) {
  commit(begin("a", 1), begin("b", 2));
  commit(DeleteExperiment{ExperimentId{1}});
  EXPECT_FALSE(store->begun_checkpoint("a"));
  EXPECT_TRUE(store->begun_checkpoint("b"));
}

}  // namespace
}  // namespace det::store
