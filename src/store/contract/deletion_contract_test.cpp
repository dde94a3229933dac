// What every kind of database must do with checkpoints that are deleted and can be brought back.

#include <gmock/gmock.h>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class DeletionContract : public StoreContract {
 protected:
  static DeletionRecord deletion(const std::string& uuid, std::int64_t experiment, std::int64_t due) {
    return {.uuid = uuid,
            .experiment_id = ExperimentId{experiment},
            .state = experiment::CheckpointState::PartiallyDeleted,
            .resources = {{"weights", 7}, {"code/", 0}},
            .due = Time{due}};
  }
  static std::vector<std::string> uuids(const std::vector<DeletionRecord>& records) {
    std::vector<std::string> all;
    for (const auto& r : records) all.push_back(r.uuid);
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(, DeletionContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(DeletionContract, WhatItTakesToBringACheckpointBackSurvivesARestart) {
  commit(PutDeletion{deletion("a", 1, 50)});
  reopen();
  const auto found = store->deletion("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->experiment_id, ExperimentId{1});
  EXPECT_EQ(found->state, experiment::CheckpointState::PartiallyDeleted);
  EXPECT_THAT(found->resources, ElementsAre(Pair("code/", 0), Pair("weights", 7)));
  EXPECT_EQ(found->due, Time{50});
  EXPECT_FALSE(store->deletion("b"));
}

TEST_P(DeletionContract, TheLastWordHoldsUntilItEnds) {
  commit(PutDeletion{deletion("a", 1, 50)});
  commit(PutDeletion{deletion("a", 1, 70)});
  EXPECT_EQ(store->deletion("a")->due, Time{70});
  commit(EndDeletion{"a"}, EndDeletion{"nobody"});
  EXPECT_FALSE(store->deletion("a"));
}

TEST_P(DeletionContract, ThoseThatAreDueComeInTheirOrder) {
  commit(PutDeletion{deletion("later", 1, 60)}, PutDeletion{deletion("now", 2, 50)},
         PutDeletion{deletion("long", 1, 10)});
  EXPECT_THAT(uuids(store->due_deletions(Time{50})), ElementsAre("long", "now"));
  EXPECT_THAT(uuids(store->due_deletions(Time{9})), IsEmpty());
  EXPECT_THAT(uuids(store->deletions_of_experiment(ExperimentId{1})), ElementsAre("later", "long"));
}

TEST_P(DeletionContract, TheyGoWithTheirExperiment) {
  commit(PutDeletion{deletion("a", 1, 50)}, PutDeletion{deletion("b", 2, 50)});
  commit(DeleteExperiment{ExperimentId{1}});
  EXPECT_FALSE(store->deletion("a"));
  EXPECT_TRUE(store->deletion("b"));
}

}  // namespace
}  // namespace det::store
