#include "det/master/experiments/experiment_rules.h"

#include <gmock/gmock.h>

namespace det::master {
namespace {

using ::testing::ElementsAreArray;

TEST(ExperimentLabels, AreSortedAndThereOnce) {
  using Labels = std::vector<std::string>;
  struct Row {
    Labels labels;
    const char* label;
    Labels with, without;
  };
  // clang-format off
  const Row rows[] = {
      {{},              "a", {"a"},           {}},
      {{"a"},           "a", {"a"},           {}},
      {{"b", "a"},      "a", {"a", "b"},      {"b"}},
      {{"c", "a", "c"}, "b", {"a", "b", "c"}, {"a", "c"}},
      {{"a"},           "A", {"A", "a"},      {"a"}}};
  // clang-format on
  for (const auto& row : rows) {
    EXPECT_THAT(with_label(row.labels, row.label), ElementsAreArray(row.with)) << row.label;
    EXPECT_THAT(without_label(row.labels, row.label), ElementsAreArray(row.without)) << row.label;
  }
}

TEST(BulkActions, AreOnTenThousandAtMost) {
  EXPECT_TRUE(check_bulk_size("runIds", 0));
  EXPECT_TRUE(check_bulk_size("runIds", 10'000));
  const auto refused = check_bulk_size("runIds", 10'001);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), Error(ErrorCode::InvalidArgument,
                                   "runIds has 10001 entries; at most 10000 are allowed in one call"));
}

TEST(RunActions, HaveTheNamesThatTheCallsOfRunsHave) {
  struct Row {
    const char* of_experiments;
    std::optional<std::string> of_runs;
  };
  // clang-format off
  const Row rows[] = {
      {"activate",  "resume"},
      {"pause",     "pause"},
      {"cancel",    std::nullopt},
      {"kill",      std::nullopt},
      {"archive",   "archive"},
      {"unarchive", "unarchive"},
      {"move",      "move"},
      {"delete",    "delete"}};
  // clang-format on
  for (const auto& row : rows) EXPECT_EQ(run_action(row.of_experiments), row.of_runs) << row.of_experiments;
}

TEST(RunActions, ApplyToTheExperimentOfWhichTheRunIsTheOnlyOne) {
  experiment::TrialRecord trial;
  trial.experiment_id = ExperimentId(7);
  struct Row {
    std::optional<experiment::TrialRecord> trial;
    std::size_t runs;
    std::string problem;
  };
  // clang-format off
  const Row rows[] = {
      {trial,        1, ""},
      {trial,        2, "run 3 is one of 2 runs of experiment 7; apply this action to the experiment instead"},
      {std::nullopt, 0, "run '3' not found"}};
  // clang-format on
  for (const auto& row : rows) {
    const auto found = experiment_of_run(TrialId(3), row.trial, row.runs);
    EXPECT_EQ(found ? "" : found.error().message(), row.problem);
    if (found) {
      EXPECT_EQ(*found, ExperimentId(7));
    }
  }
}

}  // namespace
}  // namespace det::master
