#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

class TaskContract : public StoreContract {
 protected:
  static TaskRecord task(std::string id, task::Type type, std::int64_t start) {
    return {.id = std::move(id),
            .type = type,
            .description = "Command (odd)",
            .owner = UserId(2),
            .config = {{"entrypoint", json::array{"true"}}},
            .command = {"/bin/sh", "-c", "true"},
            .context = "digest",
            .job_id = "job",
            .resource_pool = "default",
            .slots = 0,
            .priority = 7,
            .idle_timeout_seconds = 30,
            .experiment_ids = {ExperimentId(3)},
            .start_time = Time{start}};
  }
};

TEST_P(TaskContract, TasksComeBackAsTheyWerePutLast) {
  auto one = task("one", task::Type::Command, 5);
  commit(PutTask{one});
  one.state = task::State::Terminated;
  one.exit_code = 137;
  one.exit_status = "ended by signal 9";
  one.end_time = Time{9};
  one.address = task::Address{"10.0.0.1", 4000};
  commit(PutTask{one});
  reopen();
  ASSERT_TRUE(store->task("one"));
  EXPECT_TRUE(same(*store->task("one"), one));
  EXPECT_FALSE(store->task("two"));
}

TEST_P(TaskContract, ListsAreByTypeAndWorkspaceInTheOrderOfSubmission) {
  auto elsewhere = task("c", task::Type::Command, 1);
  elsewhere.workspace_id = 4;
  commit(PutTask{task("b", task::Type::Command, 7)}, PutTask{task("a", task::Type::Notebook, 6)},
         PutTask{elsewhere});
  const auto ids = [&](const TaskQuery& query) {
    std::string text;
    for (const auto& found : store->list_tasks(query)) text += found.id;
    return text;
  };
  EXPECT_EQ(ids({}), "cab");
  EXPECT_EQ(ids({.type = task::Type::Command}), "cb");
  EXPECT_EQ(ids({.workspace_id = 4}), "c");
  EXPECT_EQ(ids({.type = task::Type::Shell}), "");
}

TEST_P(TaskContract, UsageCountsTasksBesideTrials) {
  commit(PutTask{task("one", task::Type::Shell, 5)},
         PutAllocation{{.id = "one.1",
                        .task_id = "one",
                        .run_id = 1,
                        .shares = {{.agent = "a", .slots = {0, 1}}},
                        .requested = Time{5},
                        .start_time = Time{6}}});
  const auto usage = store->usage(Time{0}, Time{100});
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage[0].owner, UserId(2));
  EXPECT_EQ(usage[0].resource_pool, "default");
  EXPECT_EQ(usage[0].task_type, task::Type::Shell);
  EXPECT_TRUE(usage[0].labels.empty());
}

TEST_P(TaskContract, UsageOfADeletedExperimentStays) {
  ExperimentRecord experiment{.id = ExperimentId(1), .labels = {"vision"}, .model_definition = "digest"};
  experiment.owner = UserId(2);
  experiment.resource_pool = "default";
  commit(PutExperiment{experiment}, PutAllocation{{.id = "1.a.1",
                                                   .task_id = "1.a",
                                                   .experiment_id = ExperimentId(1),
                                                   .run_id = 1,
                                                   .shares = {{.agent = "a", .slots = {0, 1}}},
                                                   .requested = Time{5},
                                                   .start_time = Time{6},
                                                   .end_time = Time{60}}});
  const auto before = store->usage(Time{0}, Time{100});
  ASSERT_EQ(before.size(), 1u);
  commit(DeleteExperiment{ExperimentId(1)});
  const auto after = store->usage(Time{0}, Time{100});
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(json::serialize(json::to_json(after[0].allocation)),
            json::serialize(json::to_json(before[0].allocation)));
  EXPECT_EQ(after[0].owner, UserId(2));
  EXPECT_EQ(after[0].resource_pool, "default");
  EXPECT_EQ(after[0].labels, std::vector<std::string>{"vision"});
  EXPECT_FALSE(after[0].task_type);
  EXPECT_TRUE(store->usage(Time{60}, Time{100}).empty());
}

TEST_P(TaskContract, FilesOfATaskOutliveTheExperimentThatHadThemToo) {
  ExperimentRecord experiment{.id = ExperimentId(1), .model_definition = "digest"};
  commit(PutModelDefinition{"digest", "archive"}, PutExperiment{experiment},
         PutTask{task("one", task::Type::Command, 5)});
  commit(DeleteExperiment{ExperimentId(1)});
  EXPECT_EQ(store->model_definition("digest"), "archive");
}

INSTANTIATE_TEST_SUITE_P(, TaskContract, kBackends, [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace det::store
