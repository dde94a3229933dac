#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

class WorkspaceContract : public StoreContract {
 protected:
  static WorkspaceRecord workspace(std::int64_t id, std::string name) {
    return {.id = WorkspaceId(id),
            .name = std::move(name),
            .owner = UserId(2),
            .creation_time = Time{5},
            .default_compute_pool = "gpus",
            .default_aux_pool = "cpus",
            .checkpoint_storage = json::object{{"type", "directory"}}};
  }
  static ProjectRecord project(std::int64_t id, std::int64_t in, std::string name) {
    return {.id = ProjectId(id),
            .workspace = WorkspaceId(in),
            .name = name,
            .key = fmt::format("K{}", id),
            .description = "about " + name,
            .notes = {{"plan", "first\nthen"}, {"", ""}},
            .owner = UserId(2),
            .creation_time = Time{6}};
  }
};

TEST_P(WorkspaceContract, WorkspacesProjectsAndPinsComeBackAsTheyWerePut) {
  auto team = workspace(2, "team");
  auto vision = project(3, 2, "vision");
  commit(PutWorkspace{team}, PutProject{vision}, PutPin{{UserId(2), WorkspaceId(2), Time{9}}});
  team.archived = vision.archived = true;
  team.checkpoint_storage = nullptr;
  vision.name = "seeing";
  commit(PutWorkspace{team}, PutProject{vision});
  reopen();
  ASSERT_EQ(store->workspaces().size(), 1u);
  EXPECT_TRUE(same(store->workspaces()[0], team));
  ASSERT_EQ(store->projects().size(), 1u);
  EXPECT_TRUE(same(store->projects()[0], vision));
  ASSERT_EQ(store->pins().size(), 1u);
  EXPECT_EQ(store->pins()[0].time, Time{9});
}

TEST_P(WorkspaceContract, WhatIsDeletedIsGoneWithItsPins) {
  commit(PutWorkspace{workspace(2, "a")}, PutWorkspace{workspace(3, "b")}, PutProject{project(4, 3, "p")},
         PutPin{{UserId(1), WorkspaceId(2), Time{1}}}, PutPin{{UserId(1), WorkspaceId(3), Time{2}}},
         PutPin{{UserId(2), WorkspaceId(3), Time{3}}});
  commit(DeleteWorkspace{WorkspaceId(2)}, DeletePin{UserId(2), WorkspaceId(3)}, DeleteProject{ProjectId(4)});
  ASSERT_EQ(store->workspaces().size(), 1u);
  EXPECT_EQ(store->workspaces()[0].id, WorkspaceId(3));
  EXPECT_TRUE(store->projects().empty());
  ASSERT_EQ(store->pins().size(), 1u);
  EXPECT_EQ(store->pins()[0].user, UserId(1));
}

TEST_P(WorkspaceContract, PoliciesAreReplacedAsAWholeAndGoWithTheirWorkspace) {
  using config::Workload;
  const ConfigPolicyRecord everywhere{{}, Workload::Experiment, "constraints: {priority_limit: 5}  # why\n"};
  const ConfigPolicyRecord tasks{WorkspaceId(2), Workload::Task, "invariant_config: {debug: true}"};
  auto experiments = ConfigPolicyRecord{WorkspaceId(2), Workload::Experiment, "a: 1"};
  commit(PutWorkspace{workspace(2, "a")}, PutConfigPolicy{everywhere}, PutConfigPolicy{tasks},
         PutConfigPolicy{experiments});
  experiments.yaml = "b: 2";
  commit(PutConfigPolicy{experiments});
  reopen();
  EXPECT_EQ(store->config_policies(), (std::vector{everywhere, experiments, tasks}));
  commit(DeleteConfigPolicy{WorkspaceId(2), Workload::Experiment});
  EXPECT_EQ(store->config_policies(), (std::vector{everywhere, tasks}));
  commit(DeleteWorkspace{WorkspaceId(2)});
  EXPECT_EQ(store->config_policies(), std::vector{everywhere});
}

TEST_P(WorkspaceContract, CountsWhatAProjectHoldsWithoutWhatWasDeleted) {
  auto one = sample_experiment(1), two = sample_experiment(2), gone = sample_experiment(3);
  one.state = experiment::State::Active;
  two.state = experiment::State::Completed;
  gone.state = experiment::State::Deleted;
  for (auto* e : {&one, &two, &gone}) e->project_id = 7;
  two.start_time = Time{one.start_time.microseconds + 10};
  commit(PutExperiment{one}, PutExperiment{two}, PutExperiment{gone}, PutTrial{sample_trial(1, 1)},
         PutTrial{sample_trial(2, 1)}, PutTrial{sample_trial(3, 2)});
  const auto counts = store->project_counts();
  ASSERT_EQ(counts.size(), 1u);
  const auto& of = counts.at(ProjectId(7));
  EXPECT_EQ(of.experiments, 2);
  EXPECT_EQ(of.active, 1);
  EXPECT_EQ(of.trials, 3);
  EXPECT_EQ(of.last_started, two.start_time);
}

INSTANTIATE_TEST_SUITE_P(, WorkspaceContract, kBackends, [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace det::store
