// What every kind of database must do: records, events, deletion, lists.
// metric_contract_test.cpp and log_contract_test.cpp hold the rest.

#include <gmock/gmock.h>

#include <limits>

#include "det/store/contract/contract_fixture.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;

INSTANTIATE_TEST_SUITE_P(, StoreContract, kBackends, [](const auto& i) { return i.param.name; });

TEST_P(StoreContract, ANewStoreIsEmpty) {
  EXPECT_TRUE(store->experiments().empty());
  EXPECT_FALSE(store->latest_snapshot());
  EXPECT_TRUE(store->events_after(0, 10).empty());
  EXPECT_FALSE(store->trial(TrialId(1)));
  EXPECT_FALSE(store->setting("cluster_id"));
}

TEST_P(StoreContract, ExperimentComesBackAsItWasPut) {
  const auto e = sample_experiment(1);
  commit(PutExperiment{e});
  reopen();
  EXPECT_TRUE(same(*store->experiment(ExperimentId(1)), e));
  EXPECT_EQ(store->experiments().size(), 1u);
}

TEST_P(StoreContract, PutReplacesTheExperimentOfTheSameId) {
  auto e = sample_experiment(1);
  commit(PutExperiment{e});
  e.state = experiment::State::Error;
  e.end_time.reset();
  e.forked_from.reset();
  e.labels = {"other"};
  e.config["searcher"].get_object()["name"] = "grid";
  e.error = "no slots";
  commit(PutExperiment{e});
  EXPECT_TRUE(same(*store->experiment(ExperimentId(1)), e));
}

TEST_P(StoreContract, ConfigurationKeepsEveryDoubleToTheBit) {
  auto e = sample_experiment(1);
  e.config["tiny"] = 4.9406564584124654e-324;
  e.config["odd"] = 5.4097607429647384e+124;
  e.config["third"] = 1.0 / 3.0;
  e.config["whole"] = 1.0;
  e.config["zero"] = -0.0;
  e.config["nan"] = std::numeric_limits<double>::quiet_NaN();
  commit(PutExperiment{e});
  EXPECT_TRUE(same(*store->experiment(ExperimentId(1)), e));
}

TEST_P(StoreContract, TrialComesBackAsItWasPut) {
  auto t = sample_trial(1, 1);
  commit(PutTrial{t});
  EXPECT_TRUE(same(*store->trial(t.id), t));
  t.state = experiment::State::Completed;
  t.best_metric = std::numeric_limits<double>::quiet_NaN();
  t.end_time.reset();
  commit(PutTrial{t});
  EXPECT_TRUE(same(*store->trial_of_task(t.task_id), t));
}

TEST_P(StoreContract, TrialCanEvenChangeItsTask) {
  auto t = sample_trial(1, 1);
  commit(PutTrial{t});
  t.task_id = "other";
  t.experiment_id = ExperimentId(2);
  t.batches = 7;
  commit(PutTrial{t});
  EXPECT_TRUE(same(*store->trial(t.id), t));
}

TEST_P(StoreContract, TrialsOfAnExperimentAscendById) {
  commit(PutTrial{sample_trial(3, 1)}, PutTrial{sample_trial(1, 1)}, PutTrial{sample_trial(2, 9)});
  const auto trials = store->trials(ExperimentId(1));
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].id, TrialId(1));
  EXPECT_EQ(trials[1].id, TrialId(3));
}

TEST_P(StoreContract, IdsBeyond32BitsWork) {
  const std::int64_t big = (std::int64_t{1} << 40) + 5;
  auto e = sample_experiment(big);
  commit(PutExperiment{e}, PutTrial{sample_trial(big, big)},
         AddMetrics{report(big, 1, "training", big, {{"x", 1}})}, AppendEvent{{big, Time{1}, "event"}});
  EXPECT_TRUE(same(*store->experiment(ExperimentId(big)), e));
  EXPECT_EQ(store->trials(ExperimentId(big)).at(0).id, TrialId(big));
  EXPECT_EQ(store->latest_metrics(TrialId(big), "training")->batches, big);
  EXPECT_EQ(store->events_after(0, 0).at(0).sequence, big);
}

TEST_P(StoreContract, AllocationComesBackAsItWasPut) {
  AllocationRecord a;
  a.id = "1.r.2";
  a.task_id = "1.r";
  a.experiment_id = ExperimentId(1);
  a.trial_id = TrialId(1);
  a.run_id = 2;
  a.shares = {{"agent-1", {0, 1}}, {"agent-2", {3}}};
  a.requested = Time{5};
  commit(PutAllocation{a});
  a.state = experiment::AllocationState::Terminated;
  a.start_time = Time{6};
  a.end_time = Time{7};
  a.exit_reason = "exit status 1";
  commit(PutAllocation{a});
  const auto found = store->allocations("1.r");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(same(found[0], a));
}

TEST_P(StoreContract, CheckpointComesBackAsItWasPut) {
  CheckpointRecord c;
  c.uuid = "uuid";
  c.experiment_id = ExperimentId(1);
  c.trial_id = TrialId(2);
  c.task_id = "1.r";
  c.allocation_id = "1.r.1";
  c.batches = 100;
  c.resources = {{"state-dict.pth", std::int64_t{1} << 40}, {"code/", 0}};
  c.metadata = {{"steps_completed", 100}};
  c.searcher_metric = 0.125;
  c.report_time = Time{9};
  commit(PutCheckpoint{c});
  EXPECT_TRUE(same(*store->checkpoint("uuid"), c));
  c.state = experiment::CheckpointState::Deleted;
  c.resources.clear();
  c.searcher_metric.reset();
  commit(PutCheckpoint{c});
  EXPECT_TRUE(same(store->checkpoints_of_trial(TrialId(2)).at(0), c));
  EXPECT_TRUE(same(store->checkpoints_of_experiment(ExperimentId(1)).at(0), c));
}

TEST_P(StoreContract, EventsComeBackInOrderAndInPages) {
  for (int i = 1; i <= 5; ++i) commit(AppendEvent{{i, Time{i}, json::object{{"n", i}}}});
  reopen();
  const auto page = store->events_after(2, 2);
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].sequence, 3);
  EXPECT_EQ(page[1].sequence, 4);
  EXPECT_EQ(page[1].time, Time{4});
  EXPECT_EQ(json::serialize(page[1].body), R"({"n":4})");
}

TEST_P(StoreContract, LatestSnapshotIsTheOneOfTheHighestSequence) {
  for (const std::int64_t sequence : {10, 30, 20})
    commit(SaveSnapshot{{sequence, json::object{{"s", sequence}}}});
  reopen();
  const auto snapshot = store->latest_snapshot();
  EXPECT_EQ(snapshot->sequence, 30);
  EXPECT_EQ(json::serialize(snapshot->body), R"({"s":30})");
}

TEST_P(StoreContract, EventsMayNotGoBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the writer's thread would be missing in a mere fork
  EXPECT_DEATH(
      {
        commit(AppendEvent{{5, Time{1}, 1}});
        commit(AppendEvent{{5, Time{1}, 1}});
      },
      "sequence");
}

TEST_P(StoreContract, AccessTokensKeepTheirHashAndAreRevoked) {
  AccessTokenRecord token{.id = AccessTokenId(3),
                          .user = UserId(2),
                          .description = "ci",
                          .creation_time = Time{1},
                          .expires = Time{9},
                          .token_hash = "hash"};
  commit(PutAccessToken{token});
  token.revoked = true;
  token.description = "old ci";
  commit(PutAccessToken{token});
  reopen();
  const auto all = store->access_tokens();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, token.id);
  EXPECT_EQ(all[0].user, token.user);
  EXPECT_EQ(all[0].description, "old ci");
  EXPECT_EQ(all[0].expires, token.expires);
  EXPECT_EQ(all[0].token_hash, "hash");
  EXPECT_TRUE(all[0].revoked);
}

TEST_P(StoreContract, UsersSessionsTemplatesAndSettings) {
  UserRecord u{UserId(1), "ada", "Ada", true, false, "hash", Time{4}};
  u.remote = true;
  commit(PutUser{u}, PutSession{{"token", UserId(1), Time{99}}}, PutTemplate{{"t", "a: 1", WorkspaceId(7)}},
         PutSetting{"k", "v"});
  reopen();
  const auto users = store->users();
  ASSERT_EQ(users.size(), 1u);
  EXPECT_EQ(users[0].username, "ada");
  EXPECT_EQ(users[0].display_name, "Ada");
  EXPECT_TRUE(users[0].admin);
  EXPECT_FALSE(users[0].active);
  EXPECT_EQ(users[0].password_hash, "hash");
  EXPECT_EQ(users[0].modified_at, Time{4});
  EXPECT_TRUE(users[0].remote);
  EXPECT_EQ(store->session("token")->expires, Time{99});
  EXPECT_EQ(store->session("token")->user, UserId(1));
  EXPECT_EQ(store->templates().at(0).yaml, "a: 1");
  EXPECT_EQ(store->templates().at(0).workspace, WorkspaceId(7));
  EXPECT_EQ(store->setting("k"), "v");
  for (const auto* name : {"kept", "of a program", "old"}) commit(PutSession{{name, UserId(1), Time{99}}});
  commit(PutSession{{"another's", UserId(2), Time{99}}},
         PutAccessToken{{.id = AccessTokenId(7), .user = UserId(1), .token_hash = "of a program"}},
         DeleteSessionsOf{UserId(1), "kept"});
  EXPECT_FALSE(store->session("old"));
  for (const auto* name : {"kept", "of a program", "another's"}) EXPECT_TRUE(store->session(name)) << name;
  commit(PutSession{{"token", UserId(1), Time{99}}});
  commit(DeleteSession{"token"}, DeleteTemplate{"t"}, PutSetting{"k", "w"});
  EXPECT_FALSE(store->session("token"));
  EXPECT_TRUE(store->templates().empty());
  EXPECT_EQ(store->setting("k"), "w");
}

TEST_P(StoreContract, ModelsAndVersionsComeBackAsTheyWerePut) {
  ModelRecord m{.id = ModelId(3),
                .name = "resnet",
                .description = "d",
                .notes = "n",
                .labels = {"b", "a"},
                .metadata = {{"k", 1}},
                .archived = true,
                .owner = UserId(2),
                .creation_time = Time{5},
                .last_updated_time = Time{6},
                .last_version = 9};
  ModelVersionRecord v{.model = ModelId(3),
                       .version = 9,
                       .checkpoint = "uuid",
                       .name = "first",
                       .comment = "c",
                       .notes = "n",
                       .labels = {"x"},
                       .metadata = {{"a", "b"}},
                       .owner = UserId(2),
                       .creation_time = Time{7},
                       .last_updated_time = Time{8}};
  commit(PutModel{m}, PutModelVersion{v});
  m.name = "renamed";
  m.archived = false;
  v.comment = "changed";
  commit(PutModel{m}, PutModelVersion{v});
  reopen();
  ASSERT_EQ(store->models().size(), 1u);
  EXPECT_TRUE(same(store->models()[0], m));
  ASSERT_EQ(store->model_versions().size(), 1u);
  EXPECT_TRUE(same(store->model_versions()[0], v));
  auto other = v;
  other.version = 10;
  commit(PutModelVersion{other}, DeleteModelVersion{ModelId(3), 9});
  ASSERT_EQ(store->model_versions().size(), 1u);
  EXPECT_EQ(store->model_versions()[0].version, 10);
  commit(DeleteModel{ModelId(3)});
  EXPECT_TRUE(store->models().empty());
  EXPECT_TRUE(store->model_versions().empty());
}

TEST_P(StoreContract, MetadataOfACheckpointChangesNothingElse) {
  CheckpointRecord c;
  c.uuid = "uuid";
  c.metadata = {{"steps_completed", 100}};
  c.state = experiment::CheckpointState::Deleted;
  commit(PutCheckpoint{c}, SetCheckpointMetadata{"uuid", {{"quality", "good"}}});
  c.metadata = {{"quality", "good"}};
  EXPECT_TRUE(same(*store->checkpoint("uuid"), c));
  commit(SetCheckpointMetadata{"unknown", {{"a", 1}}});
  EXPECT_FALSE(store->checkpoint("unknown"));
}

TEST_P(StoreContract, MetadataOfATrialAreTheNewest) {
  EXPECT_FALSE(store->trial_metadata(TrialId(1)));
  commit(PutTrial{sample_trial(1, 1)}, SetTrialMetadata{TrialId(1), {{"phase", "warm-up"}}},
         SetTrialMetadata{TrialId(2), {{"x", 1}}});
  commit(SetTrialMetadata{TrialId(1), {{"data", {{"version", 3}}}}});
  reopen();
  EXPECT_EQ(json::serialize(*store->trial_metadata(TrialId(1))), R"({"data":{"version":3}})");
  EXPECT_TRUE(store->trial_metadata(TrialId(2)));
}

TEST_P(StoreContract, ModelDefinitionIsBytes) {
  const std::string archive("\x1f\x8b\0\xff binary", 11);
  commit(PutModelDefinition{"d", archive});
  EXPECT_EQ(store->model_definition("d"), archive);
  EXPECT_FALSE(store->model_definition("e"));
}

TEST_P(StoreContract, CallbacksComeInOrderAndAfterTheWrite) {
  std::vector<int> order;
  for (int i = 0; i < 100; ++i)
    store->commit({PutSetting{"i", std::to_string(i)}}, [&order, i, this] {
      order.push_back(i);
      EXPECT_GE(std::stoi(*store->setting("i")), i);
    });
  store->flush();
  EXPECT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(StoreContract, ACommitOfNothingIsAnswered) {
  bool done = false;
  store->commit({}, [&] { done = true; });
  store->flush();
  EXPECT_TRUE(done);
}

TEST_P(StoreContract, ClosingFinishesWhatIsQueued) {
  for (int i = 0; i < 1000; ++i) store->commit({PutSetting{"i", std::to_string(i)}}, nullptr);
  reopen();
  EXPECT_EQ(store->setting("i"), "999");
}

TEST_P(StoreContract, DeletedExperimentIsGoneWithAllThatBelongsToIt) {
  auto keep = sample_experiment(2);
  keep.model_definition = "digest-2";
  CheckpointRecord c;
  c.uuid = "c";
  c.experiment_id = ExperimentId(1);
  AllocationRecord a;
  a.id = "a";
  a.task_id = "1.request-1";
  a.experiment_id = ExperimentId(1);
  commit(PutExperiment{sample_experiment(1)}, PutExperiment{keep}, PutModelDefinition{"digest-1", "x"},
         PutModelDefinition{"digest-2", "y"}, PutTrial{sample_trial(1, 1)}, PutTrial{sample_trial(2, 2)},
         SetTrialMetadata{TrialId(1), {{"x", 1}}}, SetTrialMetadata{TrialId(2), {{"x", 1}}}, PutCheckpoint{c},
         PutAllocation{a}, AddMetrics{report(1, 1, "training", 1, {{"x", 1}})},
         AddMetrics{report(2, 1, "training", 1, {{"x", 1}})}, AddLogs{"s1", 0, {line("1.request-1", "gone")}},
         AddLogs{"s2", 0, {line("2.request-2", "kept")}});
  commit(PutSearch{ExperimentId(1), {{"created", 3}}}, PutSearch{ExperimentId(2), {{"created", 4}}});
  commit(PutSearch{ExperimentId(2), {{"created", 5}}});
  EXPECT_TRUE(store->search(ExperimentId(1)));
  commit(DeleteExperiment{ExperimentId(1)});
  for (int times = 0; times < 2; ++times) {
    EXPECT_FALSE(store->experiment(ExperimentId(1)));
    EXPECT_FALSE(store->trial(TrialId(1)));
    EXPECT_FALSE(store->trial_metadata(TrialId(1)));
    EXPECT_TRUE(store->trial_metadata(TrialId(2)));
    EXPECT_FALSE(store->checkpoint("c"));
    EXPECT_TRUE(store->allocations("1.request-1").empty());
    EXPECT_FALSE(store->model_definition("digest-1"));
    EXPECT_FALSE(store->search(ExperimentId(1)));
    EXPECT_EQ(store->search(ExperimentId(2)), json::value({{"created", 5}}));
    EXPECT_TRUE(store->metrics({.trial = TrialId(1)}).empty());
    EXPECT_FALSE(store->latest_metrics(TrialId(1), "training"));
    EXPECT_TRUE(store->logs({.task_id = "1.request-1"}).empty());
    EXPECT_TRUE(store->experiment(ExperimentId(2)));
    EXPECT_EQ(store->model_definition("digest-2"), "y");
    EXPECT_EQ(store->metrics({.trial = TrialId(2)}).size(), 1u);
    EXPECT_EQ(store->logs({.task_id = "2.request-2"}).size(), 1u);
    reopen();
  }
}

TEST_P(StoreContract, ModelDefinitionOfAForkSurvivesItsSource) {
  commit(PutModelDefinition{"digest-1", "x"}, PutExperiment{sample_experiment(1)},
         PutExperiment{sample_experiment(2)});
  commit(DeleteExperiment{ExperimentId(1)});
  EXPECT_TRUE(store->model_definition("digest-1"));
  commit(DeleteExperiment{ExperimentId(2)});
  EXPECT_FALSE(store->model_definition("digest-1"));
}

TEST_P(StoreContract, LogIdsAreNotGivenAgainAfterADeletion) {
  commit(PutExperiment{sample_experiment(1)}, PutTrial{sample_trial(1, 1)},
         AddOwnLogs{std::vector<LogRecord>(3000, line("1.request-1", "x"))},
         AddOwnLogs{{line("other", "y")}});
  const auto last = store->logs({.task_id = "1.request-1"}).back().id;
  commit(DeleteExperiment{ExperimentId(1)});
  reopen();
  reopen();
  commit(AddOwnLogs{{line("later", "z")}});
  EXPECT_GT(store->logs({.task_id = "later"}).at(0).id, last);
}

}  // namespace
}  // namespace det::store
