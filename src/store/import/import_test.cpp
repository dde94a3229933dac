#include "det/store/import/import_fixture.h"

#include <cmath>

namespace det::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(PostgresImport, TakesEverythingAndKeepsIds) {
  const auto report = import_into(into);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->cluster_id, "6f3ba8cf-3f0f-4a1c-9d0b-0d2e64f4ba7c");
  EXPECT_EQ(report->schema_version, 20250106120000);
  const auto store = open();
  const auto users = store->users();
  ASSERT_EQ(users.size(), 3u);
  EXPECT_EQ(users[2].username, "ada");
  EXPECT_TRUE(users[2].password_hash.starts_with("$2a$"));
  EXPECT_EQ(users[2].agent_user_group->agent_uid, 1815);
  EXPECT_EQ(users[0].password_hash, "");
  EXPECT_EQ(store->workspaces()[1].checkpoint_storage.at("host_path"), "/srv/ckpt");
  EXPECT_EQ(store->projects()[1].notes[0].contents, "more brass");
  EXPECT_EQ(store->groups()[0].members, std::set{UserId(3)});
  EXPECT_EQ(store->role_assignments().size(), 2u);
  EXPECT_EQ(store->templates()[0].workspace, WorkspaceId(2));
  EXPECT_EQ(store->config_policies()[0].workspace, WorkspaceId(2));
  EXPECT_EQ(store->webhooks()[0].triggers.size(), 2u);
  EXPECT_EQ(store->pins().size(), 1u);
  EXPECT_EQ(store->models()[0].labels, (std::vector<std::string>{"brass", "two words"}));
  EXPECT_EQ(store->model_versions().size(), 1u);

  const auto first = *store->experiment(ExperimentId(1));
  EXPECT_EQ(first.state, experiment::State::Completed);
  EXPECT_EQ(first.labels, (std::vector<std::string>{"brass", "steam"}));
  EXPECT_EQ(first.git.at("commit"), "abc123");
  EXPECT_EQ(store->model_definition(first.model_definition), std::string("\x1f\x8b\0\0", 4));
  EXPECT_EQ(store->experiment(ExperimentId(5))->model_definition, first.model_definition) << "kept once";
  EXPECT_EQ(store->experiment(ExperimentId(2))->state, experiment::State::Canceled);
  EXPECT_FALSE(store->experiment(ExperimentId(3)));
  EXPECT_EQ(store->unmanaged().size(), 2u);
  EXPECT_EQ(store->unmanaged()[0].external_id, "notebook-7");

  const auto trial = *store->trial(TrialId(11));
  EXPECT_EQ(trial.request_id, "11111111-1111-4111-8111-111111111111");
  EXPECT_EQ(trial.latest_checkpoint, "cccccccc-0000-4000-8000-000000000002");
  EXPECT_EQ(trial.seed, 77);
  EXPECT_EQ(store->trial_metadata(TrialId(11))->at("dataset").at("rows"), 1000);
  const auto allocations = store->allocations(trial.task_id);
  ASSERT_EQ(allocations.size(), 2u);
  EXPECT_EQ(slot_microseconds(allocations[0], Time{}), 2 * 600 * kSecond);
}

TEST_F(PostgresImport, TakesMetricsOfAllGroupsButNotWhatWasArchived) {
  ASSERT_TRUE(import_into(into));
  const auto store = open();
  EXPECT_EQ(store->metrics({.trial = TrialId(11), .group = "training"}).size(), 300u);
  const auto validations = store->metrics({.trial = TrialId(11), .group = "validation"});
  ASSERT_EQ(validations.size(), 2u);
  EXPECT_EQ(validations[1].avg_metrics.at("loss").as_double(), 0.25);
  EXPECT_EQ(to_rfc3339(validations[1].report_time), "2025-03-01T10:25:00.000000Z");
  EXPECT_EQ(store->metrics({.trial = TrialId(11), .group = "test"})[0].avg_metrics.at("best").as_double(),
            INFINITY);
  EXPECT_EQ(store->metrics({.trial = TrialId(11), .group = "cpu"})[0].batches, 1'740'824'701);
  EXPECT_TRUE(
      std::isnan(store->latest_metrics(TrialId(12), "validation")->avg_metrics.at("loss").as_double()));
  EXPECT_EQ(store->summary_metrics(TrialId(11)).at("avg_metrics").at("loss").at("count"), 300);
  const auto checkpoints = store->checkpoints_of_trial(TrialId(11));
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_EQ(checkpoints[0].state, CheckpointState::Deleted);
  EXPECT_EQ(checkpoints[1].searcher_metric, 0.25);
}

TEST_F(PostgresImport, TakesTheLogsOfAllTasksOfATrial) {
  ASSERT_TRUE(import_into(into));
  const auto lines = open()->logs({.task_id = "1.11111111-1111-4111-8111-111111111111"});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].log, "starting");
  EXPECT_EQ(lines[0].rank, 0);
  EXPECT_EQ(lines[0].level, "INFO");
  EXPECT_EQ(lines[1].log, "continued");
  EXPECT_EQ(lines[1].source, "master");
}

TEST_F(PostgresImport, SaysWhatWasLeftOutAndWhy) {
  const auto report = import_into(into);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(why(*report, "experiments"), "deleted in the original cluster;");
  EXPECT_THAT(why(*report, "model versions"), HasSubstr("checkpoint was not imported"));
  EXPECT_THAT(why(*report, "webhooks"), HasSubstr("no trigger"));
  EXPECT_THAT(why(*report, "sessions"), HasSubstr("log in again"));
  EXPECT_EQ(count(*report, "metrics").left_out, 1);
  EXPECT_EQ(count(*report, "log lines").left_out, 1);
  EXPECT_EQ(count(*report, "other tasks").left_out, 1);
  ASSERT_EQ(report->changed.size(), 1u);
  EXPECT_THAT(report->changed[0].examples, ElementsAre("2"));
  EXPECT_THAT(to_text(*report), HasSubstr("deleted in the original cluster (3)"));
}

TEST_F(PostgresImport, ATrialThatIsLeftOutTakesNothingFromTheOthers) {
  server.execute("original", R"sql(
    ALTER TABLE runs ALTER COLUMN state TYPE text;
    INSERT INTO runs (id, experiment_id, state, start_time, hparams) VALUES (9, 4, 'OF_LATER', now(), '{}');
  )sql");
  const auto report = *import_into(into);
  EXPECT_EQ(why(report, "trials"), "its state is 'OF_LATER';");
  const auto unmanaged = open()->unmanaged();
  ASSERT_EQ(unmanaged.size(), 2u);
  EXPECT_EQ(unmanaged[1].trial, TrialId(14));
  EXPECT_EQ(unmanaged[1].external_id, "cell-3");
}

TEST_F(PostgresImport, RepeatedTakesOnlyWhatIsNew) {
  ASSERT_TRUE(import_into(into));
  {
    const auto again = *import_into(into);
    for (const auto& [what, imported, unchanged, left_out] : again.counts) EXPECT_EQ(imported, 0) << what;
    EXPECT_EQ(count(again, "experiments").unchanged, 4);
    EXPECT_EQ(count(again, "metrics").unchanged, 306);
  }
  server.execute("original", R"sql(
    INSERT INTO metrics (trial_id, end_time, metrics, total_batches, trial_run_id, partition_type, metric_group)
    VALUES (13, now(), '{"avg_metrics": {"loss": 2}}', 10, 1, 'TRAINING', 'training');
    INSERT INTO task_logs (task_id, log) VALUES ('2.33333333-3333-4333-8333-333333333333', 'more');
    UPDATE experiments SET state = 'COMPLETED', end_time = now() WHERE id = 2;
    UPDATE users SET display_name = 'Countess' WHERE id = 3;
  )sql");
  const auto more = *import_into(into);
  EXPECT_EQ(count(more, "experiments").imported, 1);
  EXPECT_EQ(count(more, "log lines").imported, 1);
  EXPECT_EQ(count(more, "users").imported, 1);
  const auto store = open();
  EXPECT_EQ(store->experiment(ExperimentId(2))->state, experiment::State::Completed);
  EXPECT_EQ(store->metrics({.trial = TrialId(13)}).size(), 2u);
  EXPECT_EQ(store->logs({.task_id = "2.33333333-3333-4333-8333-333333333333"}).size(), 1u);
  EXPECT_EQ(store->logs({.task_id = "1.11111111-1111-4111-8111-111111111111"}).size(), 2u);
}

TEST_F(PostgresImport, LeavesWhatTheMasterHereHasMade) {
  ASSERT_TRUE(import_into(into));
  {
    auto own = sample_experiment(6);
    own.name = "made here";
    const auto store = open();
    store->commit({PutExperiment{own}}, nullptr);
    store->flush();
  }
  server.execute("original", R"sql(
    INSERT INTO experiments (id, state, config, start_time, owner_id, original_config, job_id)
    SELECT 6, state, config, start_time, owner_id, '', 'aaaaaaaa-0000-4000-8000-000000000006'
    FROM experiments WHERE id = 5;
  )sql");
  const auto report = *import_into(into);
  EXPECT_THAT(why(report, "experiments"), HasSubstr("has given its id to another experiment"));
  EXPECT_EQ(open()->experiment(ExperimentId(6))->name, "made here");
}

TEST_F(PostgresImport, GoesIntoPostgresqlAsWell) {
  const auto target = server.database("imported");
  const auto report = import_into(target);
  ASSERT_TRUE(report) << report.error().message();
  {
    const auto store = *open_postgres(target, {}, {.holder = "this test"});
    EXPECT_EQ(store->metrics({.trial = TrialId(11), .group = "training"}).size(), 300u);
    EXPECT_EQ(store->experiments().size(), 4u);
  }
  server.drop("imported");
}

// Releases before 0.22 had tables of their own for each kind of metrics, and trials in one table.
TEST_F(PostgresImport, ReadsTheShapeOfOlderReleases) {
  server.execute("original", R"sql(
    CREATE TABLE old_trials AS
    SELECT r.id, r.experiment_id, CAST(r.state AS text) AS state, r.start_time, r.end_time, r.hparams, t.request_id,
           t.seed, r.restarts, r.restart_id AS run_id, r.total_batches, r.external_run_id AS external_trial_id
    FROM runs r JOIN trials_v2 t ON t.run_id = r.id;
    CREATE TABLE trial_id_task_id AS SELECT run_id AS trial_id, task_id FROM run_id_task_id;
    CREATE TABLE old_steps AS SELECT trial_id, end_time, metrics, total_batches, trial_run_id, archived, id FROM raw_steps;
    CREATE TABLE old_validations AS
    SELECT trial_id, end_time, metrics, total_batches, trial_run_id, archived, id FROM raw_validations;
    DROP TABLE runs, trials_v2, runs_metadata, run_id_task_id, run_checkpoints, metrics, task_config_policies,
               allocation_accelerators, groups, user_group_membership, role_assignments;
    ALTER TABLE old_trials RENAME TO trials;
    ALTER TABLE old_steps RENAME TO raw_steps;
    ALTER TABLE old_validations RENAME TO raw_validations;
    ALTER TABLE experiments DROP COLUMN unmanaged, DROP COLUMN external_experiment_id, DROP COLUMN progress;
    ALTER TABLE projects DROP COLUMN key;
    ALTER TABLE users DROP COLUMN remote;
    CREATE TABLE raw_checkpoints (id serial, trial_id int, state text, end_time timestamptz, uuid uuid, resources jsonb,
                                  metadata jsonb, total_batches int);
    INSERT INTO raw_checkpoints (trial_id, state, end_time, uuid, resources, metadata, total_batches) VALUES
      (12, 'COMPLETED', now(), 'cccccccc-0000-4000-8000-00000000000a', '{"a": 1}', '{}', 100),
      (11, 'COMPLETED', now(), 'cccccccc-0000-4000-8000-000000000002', '{}', '{}', 300),
      (11, 'ACTIVE', now(), 'cccccccc-0000-4000-8000-00000000000b', NULL, NULL, 300);
  )sql");
  const auto report = import_into(into);
  ASSERT_TRUE(report) << report.error().message();
  const auto store = open();
  EXPECT_EQ(store->metrics({.trial = TrialId(11)}).size(), 302u);
  EXPECT_EQ(store->trial(TrialId(11))->run_id, 2);
  EXPECT_EQ(store->checkpoints_of_trial(TrialId(11)).size(), 2u);
  EXPECT_EQ(store->checkpoints_of_trial(TrialId(12)).at(0).batches, 100)
      << "of the table before checkpoints_v2";
  EXPECT_EQ(store->trial(TrialId(12))->latest_checkpoint, "cccccccc-0000-4000-8000-00000000000a");
  EXPECT_EQ(store->projects()[1].key, "P2");
  EXPECT_EQ(store->logs({.task_id = "1.11111111-1111-4111-8111-111111111111"}).size(), 2u);
}

TEST_F(PostgresImport, ContinuesWithoutATableOfAShapeThatItDoesNotKnow) {
  server.execute("original", "ALTER TABLE webhook_triggers RENAME webhook_id TO hook");
  const auto report = import_into(into);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(why(*report, "webhooks"), HasSubstr("column t.webhook_id does not exist"));
  EXPECT_EQ(count(*report, "models").imported, 1);
}

TEST_F(PostgresImport, ContinuesWhereItWasInterrupted) {
  int told = 0;
  EXPECT_ANY_THROW(
      (void)import_determined({.from = server.url("original"),
                               .into = into,
                               .progress = [&](std::string_view what, std::int64_t, std::int64_t) {
                                 if (what == "metrics" && ++told == 2) throw std::runtime_error("cut");
                               }}));
  const auto rest = *import_into(into);
  EXPECT_EQ(count(rest, "experiments").unchanged, 4);
  EXPECT_EQ(count(rest, "metrics").imported, 306);
  EXPECT_EQ(open()->metrics({.trial = TrialId(11), .group = "training"}).size(), 300u);
}

TEST_F(PostgresImport, RefusesWhatIsNoDatabaseOfTheOriginal) {
  server.database("another");
  const auto another = [&] {
    return refused(import_determined({.from = server.url("another"), .into = into}));
  };
  EXPECT_THAT(another(),
              HasSubstr("is not the database of a Determined cluster: it has no table 'experiments'"));
  server.execute("another", "CREATE TABLE experiments (id int, title text); CREATE TABLE users (id int)");
  EXPECT_THAT(another(), HasSubstr("its experiments are of another program"));
  server.execute("another", "ALTER TABLE experiments ADD config jsonb; CREATE TABLE trials (id int)");
  EXPECT_THAT(another(), HasSubstr("of a release that is too old: it has no table 'workspaces'"));
  server.drop("another");
  {
    const auto ours = *open_postgres(server.database("another"), {}, {.holder = "this test"});
  }
  EXPECT_THAT(another(), HasSubstr("of a master of this program; copy it with 'det migrate'"));
  server.drop("another");
  EXPECT_THAT(another(), HasSubstr("does not exist. Create it"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "determined.db")) << "nothing was made";
}

TEST_F(PostgresImport, RefusesAUserWhoMayNotRead) {
  server.execute("postgres", "CREATE USER reader PASSWORD 'right'");
  server.require_password("reader");
  auto from = server.url("original");
  from.replace(from.find("det@"), 4, "reader:wrong@");
  EXPECT_THAT(refused(import_determined({.from = from, .into = into})),
              HasSubstr("Correct the user or the password"));
  from.replace(from.find("wrong"), 5, "right");
  EXPECT_THAT(refused(import_determined({.from = from, .into = into})),
              HasSubstr("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"));
  server.execute("original", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
  EXPECT_EQ(refused(import_determined({.from = from, .into = into})), "imported");
  server.execute("original", "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM reader");
  server.execute("postgres", "DROP USER reader");
}

TEST_F(PostgresImport, RefusesATargetOfItsOwnOrOfAnotherClusterOrInUse) {
  {
    const auto store = open();
    EXPECT_THAT(refused(import_into(into)), HasSubstr("is in use by process"));
    store->commit({PutExperiment{sample_experiment(1)}}, nullptr);
    store->flush();
  }
  EXPECT_THAT(refused(import_into(into)), HasSubstr("whose ids would collide; import into a new directory"));
  const auto fresh = (directory.path() / "fresh").string();
  ASSERT_TRUE(import_into(fresh));
  server.execute("original", "UPDATE cluster_id SET cluster_id = 'another'");
  EXPECT_THAT(refused(import_into(fresh)), HasSubstr("but this is the database of cluster another"));
}

}  // namespace
}  // namespace det::store
