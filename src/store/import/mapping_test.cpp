#include "det/store/import/mapping.h"

#include <gtest/gtest.h>

#include <cmath>

#include "det/store/import/log_position.h"

namespace det::store {
namespace {

using experiment::State;

const char* const kConfig =
    R"({"name":"n","labels":["a"],"searcher":{"name":"single","metric":"loss","max_length":{"batches":9}},
        "hyperparameters":{},"resources":{"resource_pool":"gpu"},
        "checkpoint_storage":{"type":"shared_fs","host_path":"/srv"}})";

SourceRow experiment_row(std::map<std::string, std::string> more = {}) {
  SourceRow row(
      {{"id", "7"}, {"state", "COMPLETED"}, {"config", kConfig}, {"start_time", "2025-03-01 10:00:00+00"}});
  for (auto& [name, value] : more) row.set(name, value);
  return row;
}

TEST(ImportValues, ReadsTheTimesThatPostgresqlWrites) {
  const auto read = [](std::string_view text) {
    const auto time = parse_postgres_time(text);
    return time ? to_rfc3339(*time) : "nothing";
  };
  EXPECT_EQ(read("2025-03-01 10:00:00+00"), "2025-03-01T10:00:00.000000Z");
  EXPECT_EQ(read("2025-03-01 10:00:00.5+05:30"), "2025-03-01T04:30:00.500000Z");
  EXPECT_EQ(read("2025-03-01 10:00:00.123456-07"), "2025-03-01T17:00:00.123456Z");
  EXPECT_EQ(read("2025-03-01 10:00:00"), "2025-03-01T10:00:00.000000Z") << "without an offset: UTC";
  EXPECT_EQ(read("infinity"), "nothing");
  EXPECT_EQ(read(""), "nothing");
}

TEST(ImportValues, WhatIsNoNumberInJsonBecomesOneAgain) {
  auto value = *json::parse(R"({"a":"NaN","b":["Infinity",{"c":"-Infinity"}],"d":"NaNs"})");
  restore_numbers(value);
  EXPECT_TRUE(std::isnan(value.at("a").as_double()));
  EXPECT_EQ(value.at("b").at(0).as_double(), INFINITY);
  EXPECT_EQ(value.at("b").at(1).at("c").as_double(), -INFINITY);
  EXPECT_EQ(value.at("d"), "NaNs");
}

TEST(ImportValues, ADigestChangesWithEveryColumn) {
  const auto digest = [](const SourceRow& row) {
    SourceDigest sum;
    sum.add(row);
    return sum.text();
  };
  EXPECT_EQ(digest(experiment_row()), digest(experiment_row()));
  EXPECT_NE(digest(experiment_row()), digest(experiment_row({{"notes", ""}}))) << "NULL is not empty";
  EXPECT_NE(digest(SourceRow({{"a", "bc"}})), digest(SourceRow({{"ab", "c"}})));
}

struct StateCase {
  const char* from;
  State to;
  bool was_running;
};
class ImportedState : public testing::TestWithParam<StateCase> {};
TEST_P(ImportedState, IsOneInWhichNothingRuns) {
  const auto [from, to, was_running] = GetParam();
  const auto state = to_ended_state(from);
  ASSERT_TRUE(state) << from;
  EXPECT_EQ(state->state, to) << from;
  EXPECT_EQ(state->was_running, was_running) << from;
  EXPECT_TRUE(experiment::is_terminal(state->state));
}
INSTANTIATE_TEST_SUITE_P(, ImportedState,
                         testing::Values(StateCase{"COMPLETED", State::Completed, false},
                                         StateCase{"CANCELED", State::Canceled, false},
                                         StateCase{"ERROR", State::Error, false},
                                         StateCase{"ACTIVE", State::Canceled, true},
                                         StateCase{"PAUSED", State::Canceled, true},
                                         StateCase{"STOPPING_COMPLETED", State::Completed, true},
                                         StateCase{"STOPPING_KILLED", State::Canceled, true},
                                         StateCase{"STOPPING_ERROR", State::Error, true},
                                         StateCase{"DELETING", State::DeleteFailed, false}));

TEST(ImportedExperiment, KeepsItsIdAndWhatUsersSaid) {
  const auto mapped = to_experiment(experiment_row({{"notes", "mine"},
                                                    {"owner_id", "3"},
                                                    {"parent_id", "2"},
                                                    {"archived", "true"},
                                                    {"project_id", "4"},
                                                    {"original_config", "name: n  # mine"},
                                                    {"git_commit", "abc"},
                                                    {"end_time", "2025-03-01 11:00:00+00"}}));
  const auto& r = mapped.record;
  EXPECT_EQ(mapped.problem + mapped.warning, "");
  EXPECT_EQ(r.id, ExperimentId(7));
  EXPECT_EQ(r.name, "n");
  EXPECT_EQ(r.labels, std::vector<std::string>{"a"});
  EXPECT_EQ(r.notes, "mine");
  EXPECT_EQ(r.owner, UserId(3));
  EXPECT_EQ(r.forked_from, ExperimentId(2));
  EXPECT_TRUE(r.archived);
  EXPECT_EQ(r.project_id, 4);
  EXPECT_EQ(r.original_config, "name: n  # mine");
  EXPECT_EQ(r.resource_pool, "gpu");
  EXPECT_EQ(r.git.at("commit"), "abc");
  EXPECT_EQ(*r.end_time - r.start_time, 3600 * kSecond);
}

TEST(ImportedExperiment, SaysThatItWasRunning) {
  const auto mapped = to_experiment(experiment_row({{"state", "ACTIVE"}}));
  EXPECT_EQ(mapped.record.state, State::Canceled);
  EXPECT_EQ(mapped.record.error, "was ACTIVE in the original cluster when it was imported");
  EXPECT_EQ(mapped.record.end_time, mapped.record.start_time) << "it must have ended some time";
}

TEST(ImportedExperiment, IsLeftOutOrWarnsWhereItCannotBeUsed) {
  EXPECT_EQ(to_experiment(experiment_row({{"state", "DELETED"}})).problem, "deleted in the original cluster");
  EXPECT_EQ(to_experiment(experiment_row({{"state", "DREAMING"}})).problem, "unknown state 'DREAMING'");
  EXPECT_EQ(to_experiment(experiment_row({{"config", "{}"}})).problem, "without a configuration");
  EXPECT_THAT(to_experiment(experiment_row({{"config", R"({"name":"n"})"}})).warning,
              testing::HasSubstr("cannot be read"));
}

TEST(ImportedExperiment, OfOldReleasesHasLabelsInAMap) {
  const auto mapped = to_experiment(experiment_row({{"config", R"({"labels":{"x":true,"y":true}})"}}));
  EXPECT_EQ(mapped.record.labels, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(mapped.record.name, "Experiment 7");
  EXPECT_THAT(mapped.record.original_config, testing::HasSubstr("labels:"));
}

TEST(ImportedTrial, HasTheNameOfItsFirstTask) {
  const SourceRow row({{"id", "11"},
                       {"experiment_id", "7"},
                       {"state", "ERROR"},
                       {"request_id", "r"},
                       {"hparams", R"({"lr":"Infinity"})"},
                       {"run_id", "2"},
                       {"searcher_metric_value", "NaN"}});
  const auto trial = to_trial(row, {"7.r", "7.r-1"});
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->task_id, "7.r");
  EXPECT_EQ(trial->run_id, 2);
  EXPECT_TRUE(std::isnan(*trial->best_metric));
  EXPECT_EQ(trial->hparams.at("lr").as_double(), INFINITY);
  EXPECT_EQ(to_trial(row, {})->task_id, "7.r") << "made from its request, where no task is known";
}

TEST(ImportedMetrics, AreUnderOneNameForAllGroups) {
  const auto read = [](std::string_view text) {
    MetricRecord record;
    return read_metrics_document(text, record)
               ? json::serialize(record.avg_metrics) + json::serialize(record.batch_metrics) +
                     std::to_string(record.records)
               : "refused";
  };
  EXPECT_EQ(read(R"({"avg_metrics":{"a":1},"batch_metrics":[{"a":2}]})"), R"({"a":1}[{"a":2}]0)");
  EXPECT_EQ(read(R"({"validation_metrics":{"a":1.5},"num_inputs":64})"), R"({"a":1.5}[]64)");
  EXPECT_EQ(read(R"({"a":1,"num_inputs":2})"), R"({"a":1}[]2)");
  EXPECT_EQ(read(R"({"validation_metrics":null})"), "{}[]0");
  EXPECT_EQ(read("[]"), "refused");
  EXPECT_EQ(read("{"), "refused");
}

TEST(ImportedMetrics, WithoutStepsAreNumberedByTheirSecond) {
  EXPECT_EQ(batches_of(7, "cpu", Time{5 * kSecond}), 7);
  EXPECT_EQ(batches_of(std::nullopt, "cpu", Time{5 * kSecond + 1}), 5);
  EXPECT_EQ(batches_of(std::nullopt, "training", Time{5 * kSecond}), 0);
}

TEST(ImportedLogLine, EndsWithoutItsEnd) {
  LogRecord line{.level = "UNSPECIFIED", .log = "text\r\n"};
  clean_log_line(line);
  EXPECT_EQ(line.log, "text");
  EXPECT_EQ(line.level, "");
}

TEST(ImportedPlaces, KeepAccountsRolesAndKeys) {
  const auto user = to_user(SourceRow({{"id", "3"}, {"username", "ada"}, {"active", "true"}, {"uid", "5"}}));
  EXPECT_EQ(user.agent_user_group->agent_uid, 5);
  EXPECT_EQ(user.password_hash, "");
  EXPECT_FALSE(to_user(SourceRow({{"id", "3"}})).agent_user_group);
  EXPECT_EQ(to_project(SourceRow({{"id", "12"}})).key, "P12") << "older releases have none";
  EXPECT_EQ(to_role_assignment(SourceRow({{"role_id", "5"}, {"group_id", "9"}, {"user_id", "3"}}))->user,
            UserId(3));
  EXPECT_EQ(to_role_assignment(SourceRow({{"role_id", "5"}, {"group_id", "9"}}))->group, GroupId(9));
  EXPECT_FALSE(to_role_assignment(SourceRow({{"role_id", "11"}, {"group_id", "9"}})));
}

TEST(ImportedWebhook, HasTheTriggersThatThereAreHere) {
  const auto state = to_trigger(
      SourceRow({{"trigger_type", "EXPERIMENT_STATE_CHANGE"}, {"condition", R"({"state":"STATE_ERROR"})"}}));
  EXPECT_EQ(state->condition, "ERROR");
  EXPECT_EQ(
      to_trigger(SourceRow({{"trigger_type", "TASK_LOG"}, {"condition", R"({"regex":"x"})"}}))->condition,
      "x");
  EXPECT_FALSE(to_trigger(SourceRow({{"trigger_type", "TASK_LOG"}, {"condition", "{}"}})));
  EXPECT_FALSE(to_trigger(SourceRow({{"trigger_type", "METRIC_THRESHOLD_EXCEEDED"}, {"condition", "{}"}})));
}

TEST(ImportedCheckpoint, IsWhereItsMetadataSays) {
  const SourceRow row({{"uuid", "u"},
                       {"state", "COMPLETED"},
                       {"resources", R"({"a":3,"d/":0})"},
                       {"metadata", R"({"steps_completed":300})"}});
  const auto checkpoint = to_checkpoint(row, ExperimentId(7));
  EXPECT_EQ(checkpoint->batches, 300);
  EXPECT_EQ(checkpoint->resources, (std::map<std::string, std::int64_t>{{"a", 3}, {"d/", 0}}));
  EXPECT_FALSE(to_checkpoint(SourceRow({{"uuid", "u"}, {"state", "ACTIVE"}}), ExperimentId(7)))
      << "one that was never completed";
}

TEST(LogPosition, RemembersWhichIdsAreMissingNearTheLast) {
  LogPosition position;
  for (const std::int64_t id : {20'000, 20'001, 20'004, 20'010}) position.saw(id);
  EXPECT_EQ(position.text(), "20010 10000-19999 20002-20003 20005-20009");
  auto next = LogPosition::parse(position.text());
  next.saw(20'007);
  next.saw(20'002);
  next.saw(20'001);  // again
  EXPECT_EQ(next.unseen("id"),
            "(id > 20010 OR id BETWEEN 10000 AND 19999 OR id BETWEEN 20003 AND 20003 OR id BETWEEN 20005 AND "
            "20006 OR id BETWEEN 20008 AND 20009)");
  next.saw(100'000);
  EXPECT_EQ(next.text(), "100000 90000-99999");
  EXPECT_EQ(LogPosition().unseen("id"), "(id > 0)");
}

}  // namespace
}  // namespace det::store
