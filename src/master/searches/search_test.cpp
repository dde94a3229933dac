// Searches over HTTP: driven from outside, changed, extended, simulated.

#include "det/master/testing.h"

namespace det::master {
namespace {

constexpr const char* kTrial = "00000000-0000-4000-8000-000000000001";

class SearchTest : public testing::MasterTest {
 protected:
  testing::Answer events(std::int64_t id, int timeout = 0) {
    return call(user_, "GET",
                fmt::format("/api/v1/experiments/{}/searcher_events?timeoutSeconds={}", id, timeout));
  }
  testing::Answer answer(std::int64_t id, std::int64_t event, json::array operations) {
    return call(
        user_, "POST", fmt::format("/api/v1/experiments/{}/searcher_operations", id),
        json::object{{"searcherOperations", std::move(operations)}, {"triggeredByEvent", {{"id", event}}}});
  }
  testing::Answer patch(std::int64_t id, json::object searcher) {
    return call(user_, "PATCH", fmt::format("/api/v1/experiments/{}", id),
                json::object{{"searcher", std::move(searcher)}});
  }
  /// The agent's trial does its first operation and ends.
  void finish(const char* length = "1000") {
    const auto task = sync("a", 1).desired.at(0);
    call(task.token, "POST", fmt::format("/api/v1/trials/{}/searcher/completed_operation", task.trial_id),
         json::object{{"op", {{"validateAfter", {{"length", length}}}}}, {"searcherMetric", 0.5}});
    exit("a", 1, task.allocation_id, 0);
  }
  void wait_for(std::int64_t id, std::string_view state) {
    for (int i = 0; i < 500 && experiment(id).at("state").as_string() != state; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(experiment(id).at("state").as_string(), state);
  }
  void save(const api::DesiredAllocation& task, const char* uuid) {
    const auto saved = call(task.token, "POST", "/api/v1/checkpoints",
                            json::object{{"uuid", uuid}, {"metadata", {{"steps_completed", 10}}}});
    ASSERT_EQ(saved.status, 200) << saved.text;
  }
  std::string state_of(const char* checkpoint) {
    const auto answer = call(user_, "GET", fmt::format("/api/v1/checkpoints/{}", checkpoint));
    return std::string(answer.body.at("checkpoint").at("state").as_string());
  }
  static json::object create(const char* checkpoint = "") {
    return {{"createTrial",
             {{"requestId", kTrial},
              {"hyperparams", R"({"global_batch_size": 8})"},
              {"checkpointUuid", checkpoint}}}};
  }
  static json::object train(const char* length) {
    return {{"trialOperation", {{"validateAfter", {{"requestId", kTrial}, {"length", length}}}}}};
  }
};

TEST_F(SearchTest, WhatASearchWouldDoIsToldWithoutAnEntrypoint) {
  const json::object config{
      {"searcher", {{"name", "random"}, {"metric", "loss"}, {"max_trials", 3}, {"max_steps", 2}}},
      {"hyperparameters", {{"global_batch_size", 4}}},
      {"checkpoint_storage", {{"type", "shared_fs"}, {"host_path", "/checkpoints"}}}};
  const auto seen = call(user_, "POST", "/api/v1/preview-hp-search", json::object{{"config", config}});
  ASSERT_EQ(seen.status, 200) << seen.text;
  const auto& row = seen.body.at("summary").at("trials").as_array().at(0);
  EXPECT_EQ(row.at("count"), 3);
  EXPECT_EQ(json::serialize(row.at("unit")), R"({"maxLength":true})");
  EXPECT_EQ(json::serialize(seen.body.at("summary").at("breakdown")),
            R"({"unit":"steps","trials":[{"count":3,"lengths":["2"]}]})");
  const auto costs =
      call(user_, "POST", "/api/v1/simulate",
           json::object{{"configs", json::array{config}}, {"agents", 1}, {"slotsPerAgent", 1}});
  EXPECT_EQ(costs.status, 200) << costs.text;
}

TEST_F(SearchTest, TheBestMetricIsToldAfterTheEndToo) {
  const auto id = submit();
  const auto path = fmt::format("/api/v1/experiments/{}/searcher/best_searcher_validation_metric", id);
  EXPECT_EQ(call(user_, "GET", path).status, 404) << "nothing has been validated";
  sync("a", 1);
  const auto task = sync("a", 1).desired.at(0);
  ASSERT_EQ(report(task, "validation", 1000, 0.25).status, 200);
  finish();
  wait_for(id, "STATE_COMPLETED");
  const auto told = call(user_, "GET", path);
  EXPECT_EQ(told.body.at("metric"), 0.25) << told.text;
  const auto unknown = call(user_, "GET", "/api/v1/experiments/99/searcher/best_searcher_validation_metric");
  EXPECT_EQ(unknown.status, 404);
}

TEST_F(SearchTest, ASearchIsPreviewedWithoutATrial) {
  const json::object searcher{
      {"name", "random"}, {"metric", "loss"}, {"max_trials", 3}, {"max_length", {{"batches", 5}}}};
  const auto answer = call(user_, "POST", "/api/v1/preview-hp-search",
                           json::object{{"config", {{"searcher", searcher}}}, {"seed", 1}});
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("summary").at("trials").at(0).at("count"), 3);
}

TEST_F(SearchTest, APreviewOfAScriptWithoutALengthTrainsToCompletion) {
  for (const auto* name : {"single", "random", "grid"}) {
    json::object searcher{{"name", name}, {"metric", "loss"}};
    if (name == std::string_view("random")) searcher["max_trials"] = 2;
    const auto answer =
        call(user_, "POST", "/api/v1/preview-hp-search",
             json::object{{"config", {{"searcher", searcher}, {"entrypoint", "python3 train.py"}}}});
    ASSERT_EQ(answer.status, 200) << name << answer.text;
    const auto& summary = answer.body.at("summary").as_object();
    EXPECT_EQ(json::serialize(summary.at("trials").at(0).at("unit")), R"({"maxLength":true})") << name;
    EXPECT_FALSE(summary.contains("breakdown")) << name;
  }
}

TEST_F(SearchTest, APreviewNeedsNeitherALengthNorTheRecordsOfAnEpoch) {
  const json::object random{{"name", "random"}, {"metric", "loss"}, {"max_trials", 2}};
  const json::object halving{
      {"name", "async_halving"}, {"metric", "loss"}, {"max_trials", 2}, {"num_rungs", 3},
      {"time_metric", "epochs"}, {"max_time", 16},   {"divisor", 4}};
  for (const auto& entrypoint : {json::value(), json::value("model_def:Trial")}) {
    const auto trials = [&](const json::object& searcher) {
      json::object config{{"searcher", searcher}};
      if (!entrypoint.is_null()) config["entrypoint"] = entrypoint;
      const auto answer = call(user_, "POST", "/api/v1/preview-hp-search", json::object{{"config", config}});
      EXPECT_EQ(answer.status, 200) << answer.text;
      return json::serialize(answer.body.at("summary").at("trials"));
    };
    EXPECT_EQ(trials(random), R"([{"count":2,"unit":{"maxLength":true}}])");
    EXPECT_EQ(trials(halving), R"([{"count":1,"unit":{"name":"epochs","value":1,"maxLength":false}},)"
                               R"({"count":0,"unit":{"name":"epochs","value":4,"maxLength":false}},)"
                               R"({"count":1,"unit":{"name":"epochs","value":16,"maxLength":false}}])");
  }
  const auto wrong = call(user_, "POST", "/api/v1/preview-hp-search",
                          json::object{{"config", {{"searcher", {{"name", "random"}, {"metric", "loss"}}}}}});
  EXPECT_EQ(wrong.status, 400) << "no trials";
  EXPECT_NE(wrong.text.find("max_trials"), std::string::npos) << wrong.text;
}

TEST_F(SearchTest, APreviewOfHalvingHasOneRowALengthAndTheBreakdown) {
  const json::object searcher{{"name", "adaptive_asha"},
                              {"metric", "loss"},
                              {"max_trials", 10},
                              {"divisor", 3},
                              {"max_rungs", 10},
                              {"max_concurrent_trials", 5},
                              {"max_length", {{"batches", 900}}}};
  const auto answer = call(user_, "POST", "/api/v1/preview-hp-search",
                           json::object{{"config", {{"searcher", searcher}}}, {"seed", 1}});
  ASSERT_EQ(answer.status, 200) << answer.text;
  const auto& summary = answer.body.at("summary").as_object();
  std::int64_t before = 0, trials = 0;
  for (const auto& row : summary.at("trials").as_array()) {
    EXPECT_GT(row.at("unit").at("value").to_number<std::int64_t>(), before) << "sorted, and each length once";
    before = row.at("unit").at("value").to_number<std::int64_t>();
    trials += row.at("count").to_number<std::int64_t>();
  }
  EXPECT_EQ(trials, 10);
  EXPECT_GT(summary.at("breakdown").at("trials").as_array().size(), summary.at("trials").as_array().size());
}

TEST_F(SearchTest, AProgramOutsideDrivesASearchOverARestartOfTheMaster) {
  const auto id = submit("searcher: {name: custom, metric: loss, unit: batches}\n");
  auto first = events(id);
  ASSERT_EQ(first.status, 200) << first.text;
  EXPECT_EQ(json::serialize(first.body.at("searcherEvents").at(0).at("id")), "1");
  ASSERT_EQ(answer(id, 1, {create(), train("1000")}).status, 200);
  restart();
  const auto again = answer(id, 1, {create(), train("1000")});
  EXPECT_EQ(again.status, 404) << "it was taken before the restart";
  EXPECT_NE(again.text.find("event 1 not found"), std::string::npos) << again.text;
  sync("a", 1);
  const auto task = sync("a", 1).desired.at(0);
  call(
      task.token, "POST", fmt::format("/api/v1/trials/{}/validation_metrics", task.trial_id),
      json::object{{"stepsCompleted", 1000}, {"metrics", {{"avgMetrics", {{"loss", 0.5}, {"seconds", 3}}}}}});
  call(task.token, "POST", fmt::format("/api/v1/trials/{}/searcher/completed_operation", task.trial_id),
       json::object{{"op", {{"validateAfter", {{"length", "1000"}}}}}, {"searcherMetric", 0.5}});
  const auto told = events(id);
  const auto& last = told.body.at("searcherEvents").as_array().back().as_object();
  EXPECT_EQ(last.at("validationCompleted").at("metric"), 0.5);
  EXPECT_EQ(last.at("validationCompleted").at("validateAfterLength"), "1000");
  EXPECT_EQ(json::serialize(last.at("validationCompleted").at("metrics")), R"({"loss":0.5,"seconds":3})");
  ASSERT_EQ(answer(id, last.at("id").to_number<std::int64_t>(), {json::object{{"shutDown", json::object()}}})
                .status,
            200);
  exit("a", 1, task.allocation_id, 0);
  wait_for(id, "STATE_COMPLETED");
  const auto over = events(id);
  EXPECT_EQ(over.body.at("searcherEvents").at(0).at("experimentInactive").at("experimentState"),
            "STATE_COMPLETED");
  EXPECT_EQ(answer(id, 1, {}).status, 400);
}

TEST_F(SearchTest, ATrialStartsFromANamedCheckpointWhichStaysForItOverARestart) {
  const auto nothing_kept =
      "checkpoint_storage: {save_experiment_best: 0, save_trial_best: 0, save_trial_latest: 0}\n";
  const auto source = submit(nothing_kept);
  const auto task = sync("a", 2).desired.at(0);
  save(task, "kept");
  save(task, "collected");
  const auto id = submit("searcher: {name: custom, metric: loss, unit: batches}\n");
  ASSERT_EQ(answer(id, 1, {create("kept"), train("1000")}).status, 200);
  restart();
  call(task.token, "POST", fmt::format("/api/v1/trials/{}/searcher/completed_operation", task.trial_id),
       json::object{{"op", {{"validateAfter", {{"length", "1000"}}}}}, {"searcherMetric", 0.5}});
  exit("a", 2, task.allocation_id, 0);
  wait_for(source, "STATE_COMPLETED");
  for (int i = 0; i < 500 && state_of("collected") != "STATE_DELETED"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(state_of("collected"), "STATE_DELETED") << "so what was to be collected has been";
  EXPECT_EQ(state_of("kept"), "STATE_COMPLETED");
  const auto deleted =
      call(user_, "DELETE", "/api/v1/checkpoints", {{"checkpointUuids", json::array{"kept"}}});
  EXPECT_EQ(deleted.status, 400);
  EXPECT_NE(deleted.text.find(fmt::format("of experiment {} starts", id)), std::string::npos) << deleted.text;
  const auto begun = sync("a", 2).desired.at(0);
  EXPECT_EQ(begun.environment.at("DET_LATEST_CHECKPOINT"), "kept");
  EXPECT_EQ(begun.environment.at("DET_WARM_START"), "1");
  EXPECT_EQ(begun.environment.at("DET_STEPS_COMPLETED"), "0");
}

TEST_F(SearchTest, ACheckpointThatNoTrialCanStartFromIsRefusedAndNothingIsDone) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  save(task, "there");
  save(task, "newest");
  ASSERT_EQ(call(user_, "DELETE", "/api/v1/checkpoints", {{"checkpointUuids", json::array{"there"}}}).status,
            200);
  const auto id = submit("searcher: {name: custom, metric: loss, unit: batches}\n");
  const auto elsewhere =
      submit("searcher: {name: custom, metric: loss}\ncheckpoint_storage: {storage_path: other}\n");
  const auto refused = [&](std::int64_t experiment, const char* uuid) {
    const auto said = answer(experiment, 1, {create(uuid), train("1000")});
    EXPECT_EQ(said.status, 400) << said.text;
    return said.text;
  };
  const std::string trial = std::string("trial ") + kTrial;
  EXPECT_NE(refused(id, "none").find(trial + ": no checkpoint found with UUID none"), std::string::npos);
  EXPECT_NE(refused(id, "there").find(trial + ": no checkpoint found with UUID there: it was deleted"),
            std::string::npos);
  EXPECT_NE(refused(elsewhere, "newest").find("/other; use the checkpoint_storage"), std::string::npos);
  const auto trials = call(user_, "GET", fmt::format("/api/v1/experiments/{}/trials", id));
  EXPECT_TRUE(trials.body.at("trials").as_array().empty()) << trials.text;
  EXPECT_EQ(answer(id, 1, {create("newest"), train("1000")}).status, 200) << "the event waits for an answer";
  EXPECT_EQ(answer(id, 1, {create("none")}).status, 404) << "it was answered, whatever became of checkpoints";
}

TEST_F(SearchTest, EventsAreAwaitedAndOnlyOfCustomSearches) {
  const auto id = submit("searcher: {name: custom, metric: loss}\n");
  ASSERT_EQ(answer(id, 1, {}).status, 200);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    call(user_, "POST", fmt::format("/api/v1/experiments/{}/pause", id));
  });
  const auto woken = events(id, 60);
  later.join();
  ASSERT_EQ(woken.body.at("searcherEvents").as_array().size(), 1u) << woken.text;
  EXPECT_EQ(woken.body.at("searcherEvents").at(0).at("experimentInactive").at("experimentState"),
            "STATE_PAUSED");
  const auto other = submit();
  EXPECT_EQ(events(other).status, 400);
  EXPECT_EQ(answer(other, 1, {}).status, 400);
  EXPECT_EQ(events(999).status, 404);
  EXPECT_EQ(answer(999, 1, {}).status, 404);
}

TEST_F(SearchTest, ACompletedSearchIsExtendedAndASecondTimeAfterARestart) {
  const auto id =
      submit("searcher: {name: random, metric: loss, max_trials: 1, max_length: {batches: 1000}}\n");
  finish();
  wait_for(id, "STATE_COMPLETED");
  const auto small = patch(id, {{"maxTrials", 0}});
  EXPECT_EQ(small.status, 400);
  EXPECT_NE(small.text.find("it must be at least the current value, 1"), std::string::npos) << small.text;
  for (int trials = 2; trials <= 3; ++trials) {
    const auto extended = patch(id, {{"maxTrials", trials}});
    ASSERT_EQ(extended.status, 200) << extended.text;
    EXPECT_EQ(extended.body.at("experiment").at("config").at("searcher").at("max_trials"), trials);
    restart();
    finish();
    wait_for(id, "STATE_COMPLETED");
  }
  const auto all = call(user_, "GET", fmt::format("/api/v1/experiments/{}/trials", id));
  EXPECT_EQ(all.body.at("trials").as_array().size(), 3u);
  const auto single = submit();
  finish();
  wait_for(single, "STATE_COMPLETED");
  EXPECT_NE(patch(single, {{"maxLength", 2000}}).text.find("its search cannot be extended"),
            std::string::npos);
}

TEST_F(SearchTest, ASimulationUsesTheAgentsThatAreThereOrThoseThatAreNamed) {
  const json::object config{
      {"entrypoint", "m:T"},
      {"hyperparameters", {{"global_batch_size", 8}}},
      {"searcher",
       {{"name", "random"}, {"metric", "loss"}, {"max_trials", 4}, {"max_length", {{"batches", 100}}}}}};
  const auto simulate = [&](json::object more) {
    more["configs"] = json::array{config};
    return call(user_, "POST", "/api/v1/simulate", more);
  };
  const auto none = simulate({});
  EXPECT_EQ(none.status, 400);
  EXPECT_NE(none.text.find("resource pool default has no agents now"), std::string::npos) << none.text;
  sync("a", 2);
  const auto here = simulate({{"secondsPerBatch", 1}, {"startSeconds", 0}, {"validationSeconds", 0}});
  ASSERT_EQ(here.status, 200) << here.text;
  EXPECT_EQ(here.body.at("forecast").at("slots"), "2");
  EXPECT_NEAR(here.body.at("forecast").at("end").to_number<double>(), 202, 0.1);
  const auto named = simulate({{"agents", 4}, {"slotsPerAgent", 1}, {"policy", "fair_share"}});
  EXPECT_EQ(named.body.at("forecast").at("slots"), "4");
  EXPECT_EQ(named.body.at("policy"), "fair_share");
  EXPECT_EQ(simulate({{"agents", 4}, {"policy", "best"}}).status, 400);
  EXPECT_EQ(simulate({{"agents", 0}}).status, 400);
  EXPECT_EQ(simulate({{"fromExperiment", 77}}).status, 404);
}

TEST_F(SearchTest, TheParetoFrontIsOfAllValidationsOfAllTrials) {
  const auto id = submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto validate = [&](int batches, double loss, double accuracy) {
    call(task.token, "POST", fmt::format("/api/v1/trials/{}/metrics", task.trial_id),
         json::object{{"group", "validation"},
                      {"metrics",
                       {{"trialId", task.trial_id.value()},
                        {"stepsCompleted", batches},
                        {"metrics", {{"avgMetrics", {{"loss", loss}, {"accuracy", accuracy}}}}}}}});
  };
  validate(10, 0.5, 0.5);
  validate(20, 0.3, 0.4);
  validate(30, 0.4, 0.3);
  const auto path = fmt::format("/api/v1/experiments/{}/pareto", id);
  const auto front = call(user_, "GET", path + "?metrics=loss&metrics=accuracy:max");
  ASSERT_EQ(front.status, 200) << front.text;
  ASSERT_EQ(front.body.at("front").as_array().size(), 2u) << front.text;
  EXPECT_EQ(json::serialize(front.body.at("front").at(0).at("values")), "[0.3,0.4]") << "the best loss first";
  EXPECT_TRUE(front.body.at("dominated").as_array().empty());
  const auto whole = call(user_, "GET", path + "?metrics=loss&metrics=accuracy:max&includeDominated=true");
  EXPECT_EQ(json::serialize(whole.body.at("dominated").at(0).at("values")), "[0.4,0.3]");
  EXPECT_EQ(call(user_, "GET", path + "?metrics=loss").status, 400);
  const auto single = call(user_, "GET", path);
  EXPECT_EQ(single.status, 400) << "the searcher has one metric";
  EXPECT_NE(single.text.find("optimizes one metric"), std::string::npos) << single.text;
  EXPECT_EQ(call(user_, "GET", path + "?metrics=loss&metrics=none").status, 404);
}

TEST_F(SearchTest, ASimulationLearnsFromWhatTrialsReported) {
  const auto id = submit();
  const auto task = sync("a", 1).desired.at(0);
  report(task, "training", 10, 0.5);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  report(task, "training", 20, 0.4);
  report(task, "validation", 20, 0.4);
  const json::object config{
      {"entrypoint", "m:T"},
      {"hyperparameters", {{"global_batch_size", 8}}},
      {"searcher", {{"name", "single"}, {"metric", "loss"}, {"max_length", {{"batches", 100}}}}}};
  const auto learned = call(user_, "POST", "/api/v1/simulate",
                            json::object{{"configs", json::array{config}}, {"fromExperiment", id}});
  ASSERT_EQ(learned.status, 200) << learned.text;
  EXPECT_EQ(learned.body.at("curves"), 1);
  const auto pace = learned.body.at("costs").at("secondsPerBatch").to_number<double>();
  EXPECT_GT(pace, 0.004);
  EXPECT_LT(pace, 1);
}

}  // namespace
}  // namespace det::master
