#include "det/master/workspaces/deletion_rules.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

TEST(DeletionOfAPlace, GoesOnUntilItFails) {
  const Workspaces::Deletion begun, failed{.failed = true, .error = "disk"};
  EXPECT_FALSE(goes_on(nullptr));
  EXPECT_TRUE(goes_on(&begun));
  EXPECT_FALSE(goes_on(&failed));
}

TEST(DeletionOfAWorkspace, IsRefusedForItsModelsAndForAPoolOfItsOwn) {
  struct Row {
    std::size_t models;
    const char *pool, *problem;
  };
  // clang-format off
  const Row rows[] = {
      {0, "",    ""},
      {1, "",    "workspace 'vision' has 1 model; move or delete the models first (see 'det model list -w vision')"},
      {2, "gpu", "workspace 'vision' has 2 models; move or delete the models first (see 'det model list -w vision')"},
      {0, "gpu", "resource pool 'gpu' is bound only to workspace 'vision' and would become open to all; bind it to another workspace first"}};
  // clang-format on
  for (const auto& row : rows) {
    const auto allowed = check_workspace_deletion("vision", row.models, row.pool);
    EXPECT_EQ(allowed ? "" : allowed.error().message(), row.problem);
  }
}

TEST(DeletionOfAPlace, WaitsForExperimentsThatAreNotFinished) {
  using enum experiment::State;
  struct Row {
    experiment::State state;
    bool problem;
  };
  // clang-format off
  const Row rows[] = {
      {Active,         true},
      {Paused,         true},
      {StoppingKilled, true},
      {Completed,      false},
      {Canceled,       false},
      {Error,          false}};
  // clang-format on
  for (const auto& row : rows)
    EXPECT_EQ(unfinished_problem(ExperimentId(7), row.state).has_value(), row.problem);
  EXPECT_EQ(*unfinished_problem(ExperimentId(7), Active),
            "experiment 7 is not finished; cancel or kill it first");
}

TEST(DeletionOfAPlace, NamesTheFirstFiveProblems) {
  const auto needed = checkpoint_problem("c1", ExperimentId(7), "a version of model 'm'");
  EXPECT_EQ(needed, "checkpoint c1 of experiment 7 is a version of model 'm'");
  struct Row {
    std::vector<std::string> problems;
    const char* named;
  };
  // clang-format off
  const Row rows[] = {
      {{"a"},                               "a"},
      {{"a", "b"},                          "a; b"},
      {{"a", "b", "c", "d", "e"},           "a; b; c; d; e"},
      {{"a", "b", "c", "d", "e", "f", "g"}, "a; b; c; d; e; and 2 more"}};
  // clang-format on
  for (const auto& row : rows)
    EXPECT_EQ(
        deletion_refusal("project", "p", row.problems),
        det::Error(ErrorCode::FailedPrecondition,
                   fmt::format("project 'p' cannot be deleted because of its contents: {}", row.named)));
}

}  // namespace
}  // namespace det::master
