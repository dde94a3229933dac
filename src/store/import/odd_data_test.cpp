// What years of use and bugs leave in a real database: imported as far as it means something, and reported.

#include <cmath>

#include "det/store/import/import_fixture.h"

namespace det::store {
namespace {

using testing::HasSubstr;

class PostgresOddData : public PostgresImport {
 protected:
  ImportReport import_after(const std::string& sql) {
    server.execute("original", sql);
    auto report = import_into(into);
    EXPECT_TRUE(report) << report.error().message();
    return report.value_or(ImportReport{});
  }
};

TEST_F(PostgresOddData, StatesAndConfigurationsThatAreNoneLeaveOutTheirExperiment) {
  const auto report = import_after(R"sql(
    ALTER TABLE experiments ALTER state TYPE text, ALTER state DROP NOT NULL, ALTER config DROP NOT NULL;
    ALTER TABLE runs ALTER state TYPE text, ALTER state DROP NOT NULL;
    INSERT INTO experiments (id, state, config, start_time, owner_id, original_config, job_id) VALUES
      (20, 'SUSPENDED', '{"name": "x"}', now(), 1, '', 'j'), (21, NULL, '{"name": "x"}', now(), 1, '', 'j'),
      (22, 'COMPLETED', NULL, now(), 1, '', 'j'), (23, 'COMPLETED', '[1]', now(), 1, '', 'j'),
      (24, 'COMPLETED', 'null', now(), 1, '', 'j'), (25, 'COMPLETED', '{"name": 7, "labels": 3}', now(), 1, '', 'j');
    INSERT INTO runs (id, experiment_id, state, start_time) VALUES (50, 25, NULL, now()), (51, 777, 'COMPLETED', now());
    INSERT INTO trials_v2 VALUES (888, 'no run', 1);
  )sql");
  EXPECT_THAT(why(report, "experiments"), HasSubstr("unknown state 'SUSPENDED'"));
  EXPECT_THAT(why(report, "experiments"), HasSubstr("unknown state ''"));
  EXPECT_THAT(why(report, "experiments"), HasSubstr("without a configuration"));
  EXPECT_EQ(count(report, "experiments").left_out, 6);
  EXPECT_THAT(why(report, "trials"), HasSubstr("its state is ''"));
  EXPECT_THAT(why(report, "trials"), HasSubstr("their experiment is not in the database"));
  EXPECT_THAT(why(report, "trials"), HasSubstr("they have no run"));
  const auto store = open();
  EXPECT_EQ(store->experiment(ExperimentId(25))->name, "Experiment 25");
  EXPECT_FALSE(store->trial(TrialId(50)));
}

TEST_F(PostgresOddData, WhatBelongsToNobodyBelongsToTheAdministrator) {
  const auto report = import_after(R"sql(
    UPDATE experiments SET owner_id = 99, project_id = 98 WHERE id = 5;
    UPDATE workspaces SET user_id = 97 WHERE id = 2;
    INSERT INTO projects (name, workspace_id, user_id, key) VALUES ('lost', 96, 1, 'LO');
    INSERT INTO role_assignments VALUES (95, 1, 1);
    INSERT INTO workspace_pins VALUES (94, 3, now());
    INSERT INTO user_group_membership VALUES (93, 1);
    INSERT INTO models (name, creation_time, user_id, workspace_id) VALUES ('lost', now(), 92, 91);
    INSERT INTO model_versions (version, checkpoint_uuid, creation_time, model_id, user_id)
      VALUES (1, 'cccccccc-0000-4000-8000-000000000002', now(), 90, 3);
  )sql");
  EXPECT_THAT(why(report.changed, "experiments"), HasSubstr("they belong to the administrator now"));
  EXPECT_THAT(why(report.changed, "experiments"), HasSubstr("they are in the first one now"));
  EXPECT_THAT(why(report.changed, "workspaces"), HasSubstr("they belong to the administrator now"));
  EXPECT_THAT(why(report.changed, "projects"), HasSubstr("their workspace was not imported"));
  EXPECT_THAT(why(report.changed, "models"), HasSubstr("their workspace was not imported"));
  EXPECT_THAT(why(report, "role assignments"), HasSubstr("their user, group or workspace was not imported"));
  EXPECT_THAT(why(report, "model versions"), HasSubstr("its model was not imported"));
  const auto store = open();
  EXPECT_EQ(store->experiment(ExperimentId(5))->owner, UserId(1));
  EXPECT_EQ(store->experiment(ExperimentId(5))->project_id, 1);
  EXPECT_EQ(store->groups()[0].members, std::set{UserId(3)});
}

TEST_F(PostgresOddData, NamesThatAreThereTwiceAreMadeDifferent) {
  const auto report = import_after(R"sql(
    ALTER TABLE workspaces DROP CONSTRAINT workspaces_name_key;
    ALTER TABLE projects DROP CONSTRAINT projects_key_key;
    ALTER TABLE groups DROP CONSTRAINT groups_group_name_key;
    ALTER TABLE models DROP CONSTRAINT models_name_key;
    INSERT INTO workspaces (name, user_id) VALUES ('Engines', 1);
    INSERT INTO projects (name, workspace_id, user_id, key) VALUES ('Analytical', 2, 1, 'ANA');
    INSERT INTO groups (group_name) VALUES ('analysts');
    INSERT INTO models (name, creation_time, user_id) VALUES ('engine', now(), 1);
  )sql");
  const auto store = open();
  EXPECT_EQ(store->workspaces()[2].name, "Engines (3)");
  EXPECT_EQ(store->projects()[2].name, "Analytical (3)");
  EXPECT_EQ(store->projects()[2].key, "ANA (3)");
  EXPECT_EQ(store->groups()[1].name, "analysts (3)");
  EXPECT_EQ(store->models()[1].name, "engine (2)");
  for (const auto* what : {"workspaces", "projects", "keys of projects", "groups", "models"})
    EXPECT_EQ(why(report.changed, what), "renamed, because another one here has its name;") << what;
}

TEST_F(PostgresOddData, RepeatedWithNamesExchangedNothingCollides) {
  server.execute("original", "INSERT INTO workspaces (name, user_id) VALUES ('Looms', 1)");
  ASSERT_TRUE(import_into(into));
  import_after(R"sql(
    UPDATE workspaces SET name = 'x' WHERE id = 2;
    UPDATE workspaces SET name = 'Engines' WHERE id = 3;
    UPDATE workspaces SET name = 'Looms' WHERE id = 2;
    UPDATE models SET name = 'renamed' WHERE id = 1;
  )sql");
  const auto store = open();
  EXPECT_EQ(store->workspaces()[1].name, "Looms (2)");
  EXPECT_EQ(store->workspaces()[2].name, "Engines");
  EXPECT_EQ(store->models()[0].name, "renamed");
}

TEST_F(PostgresOddData, WhatTheMasterHereHasMadeIsNotReplaced) {
  ASSERT_TRUE(import_into(into));
  {
    const auto store = open();
    std::vector<Change> own;
    own.emplace_back(PutUser{{.id = UserId(4), .username = "mine", .display_name = "", .password_hash = ""}});
    own.emplace_back(PutWorkspace{{.id = WorkspaceId(3), .name = "mine", .owner = UserId(4)}});
    store->commit(std::move(own), nullptr);
    store->flush();
  }
  const auto report = import_after(R"sql(
    INSERT INTO users (username) VALUES ('theirs');
    INSERT INTO workspaces (name, user_id) VALUES ('theirs', 4);
    UPDATE experiments SET owner_id = 4 WHERE id = 5;
  )sql");
  EXPECT_EQ(why(report, "users"), "the master here has given its id to another one;");
  EXPECT_EQ(why(report, "workspaces"), "the master here has given its id to another one;");
  const auto store = open();
  EXPECT_EQ(store->users()[3].username, "mine");
  EXPECT_EQ(store->workspaces()[2].name, "mine");
  EXPECT_EQ(store->experiment(ExperimentId(5))->owner, UserId(1)) << "not the other user of that number";
}

TEST_F(PostgresOddData, NumbersTimesAndDocumentsOfAllKindsAreTaken) {
  const auto report = import_after(R"sql(
    ALTER TABLE metrics ALTER trial_run_id DROP NOT NULL;
    ALTER TABLE runs ALTER hparams TYPE json;
    ALTER TABLE raw_validations DISABLE TRIGGER ALL;
    UPDATE experiments SET progress = 'NaN', end_time = 'infinity', start_time = '0001-01-01 00:00:00+00 BC'
      WHERE id = 5;
    UPDATE runs SET hparams = '{"text": "a\u0000b", "big": 1e400, "list": [null, {"x": "Infinity"}]}',
      searcher_metric_value = '-Infinity', total_batches = -5, restarts = -1 WHERE id = 12;
    UPDATE allocations SET slots = 32767, start_time = 'infinity', end_time = NULL;
    UPDATE templates SET config = '3';
    INSERT INTO metrics (trial_id, end_time, metrics, total_batches, trial_run_id, partition_type, metric_group) VALUES
      (12, NULL, NULL, 1, 1, 'TRAINING', 'training'), (12, now(), '[]', 2, 1, 'TRAINING', 'training'),
      (12, now(), '{"avg_metrics": 3}', 3, 1, 'TRAINING', 'training'),
      (12, 'infinity', '{"avg_metrics": {"a": "NaN", "b": {"c": "-Infinity"}, "d": null}}', 4, NULL, 'TRAINING', NULL),
      (12, now(), '{"avg_metrics": null, "batch_metrics": null}', 5, 1, 'TRAINING', 'training'),
      (12, now(), '{}', -1, 1, 'GENERIC', ''), (12, now(), '{"x": 1}', NULL, 1, 'GENERIC', NULL);
    UPDATE checkpoints_v2 SET resources = NULL, metadata = '{"steps_completed": "many"}'
      WHERE uuid = 'cccccccc-0000-4000-8000-000000000002';
    UPDATE task_logs SET log = '\xff00fe0a', "timestamp" = NULL, level = 'SHOUTING', rank_id = -1 WHERE id = 1;
  )sql");
  EXPECT_EQ(why(report, "metrics"), "they belong to no trial that was imported;they are no JSON object;");
  EXPECT_EQ(count(report, "metrics").left_out, 4);
  EXPECT_THAT(why(report, "templates"), HasSubstr("no map"));
  const auto store = open();
  EXPECT_EQ(store->experiment(ExperimentId(5))->progress, 0);
  EXPECT_EQ(store->trial(TrialId(12))->best_metric, -INFINITY);
  EXPECT_EQ(store->trial(TrialId(12))->hparams.at("text").as_string(), std::string_view("a\0b", 3));
  const auto reports = store->metrics({.trial = TrialId(12), .group = "training"});
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_TRUE(std::isnan(reports[0].avg_metrics.at("a").as_double()));
  EXPECT_EQ(reports[0].run_id, 0);
  EXPECT_EQ(store->metrics({.trial = TrialId(12), .group = "generic"}).size(), 1u);
  const auto line = store->logs({.task_id = "1.11111111-1111-4111-8111-111111111111"})[0];
  EXPECT_EQ(line.log, std::string_view("\xff\0\xfe", 3));
  EXPECT_EQ(line.level, "");
  EXPECT_FALSE(line.rank);
}

TEST_F(PostgresOddData, LargeConfigurationsAndFilesAreTaken) {
  import_after(R"sql(
    UPDATE experiments SET model_definition = decode(repeat('1f8b', 8 * 1024 * 1024), 'hex'),
      config = jsonb_set(config, '{data}', to_jsonb(repeat('x', 12 * 1024 * 1024))),
      original_config = repeat('# comment' || chr(10), 500000) WHERE id = 1;
  )sql");
  const auto store = open();
  const auto experiment = *store->experiment(ExperimentId(1));
  EXPECT_EQ(experiment.config.at("data").as_string().size(), 12u << 20);
  EXPECT_EQ(store->model_definition(experiment.model_definition)->size(), 16u << 20);
}

TEST_F(PostgresOddData, TextsOfADatabaseWithoutAnEncodingAreReadable) {
  server.drop("original");
  server.execute(
      "postgres",
      "CREATE DATABASE original ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
  server.execute("original", sql());
  import_after("UPDATE experiments SET notes = 'caf' || chr(233), git_committer = chr(255) WHERE id = 1");
  EXPECT_EQ(open()->experiment(ExperimentId(1))->notes, "caf\xEF\xBF\xBD");
}

TEST_F(PostgresOddData, LinesThatWereBeingWrittenComeWithTheNextImport) {
  // Line 5 has its number, but its transaction goes on while line 6 is committed, and imported.
  const auto insert = [&](int id, const char* text) {
    server.execute("original", fmt::format("INSERT INTO task_logs (id, task_id, log) VALUES ({}, "
                                           "'2.33333333-3333-4333-8333-333333333333', '{}')",
                                           id, text));
  };
  insert(6, "second");
  EXPECT_EQ(count(*import_into(into), "log lines").imported, 3);
  insert(5, "first");
  const auto again = *import_into(into);
  EXPECT_EQ(count(again, "log lines").imported, 1);
  EXPECT_EQ(count(again, "log lines").unchanged, 4);
  EXPECT_EQ(count(*import_into(into), "log lines").imported, 0);
  EXPECT_EQ(open()->logs({.task_id = "2.33333333-3333-4333-8333-333333333333"}).size(), 2u);
}

}  // namespace
}  // namespace det::store
