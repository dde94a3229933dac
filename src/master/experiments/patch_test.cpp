// What of an experiment can be changed after its submission, over HTTP, and what the request must look like.

#include <thread>

#include "det/master/testing.h"

namespace det::master {
namespace {

class PatchTest : public testing::MasterTest {
 protected:
  testing::Answer patch(std::int64_t id, const json::value& body) {
    return call(user_, "PATCH", fmt::format("/api/v1/experiments/{}", id), body);
  }
  json::value config(std::int64_t id) { return experiment(id).at("config"); }
};

constexpr const char* kFourTrials =
    "searcher: {name: random, metric: loss, max_trials: 4, max_concurrent_trials: 4, max_length: {batches: "
    "100}}\n"
    "resources: {max_slots: 1}\n";

TEST_F(PatchTest, MoreMaxSlotsStartMoreTrialsAtOnceAndStayAfterARestart) {
  const auto id = submit(kFourTrials);
  EXPECT_EQ(sync("a", 4).desired.size(), 1u);
  const auto answer = patch(id, {{"resources", {{"maxSlots", 3}, {"weight", 2.5}, {"priority", 7}}}});
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(sync("a", 4).desired.size(), 3u);
  restart();
  EXPECT_EQ(sync("a", 4).desired.size(), 3u);
  EXPECT_EQ(config(id).at("resources").at("max_slots"), 3);
  EXPECT_EQ(config(id).at("resources").at("weight"), 2.5);
  const auto jobs = call(user_, "GET", "/api/v1/job-queues-v2").body.at("jobs").get_array();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].at("full").at("priority"), 7);
  EXPECT_EQ(jobs[0].at("full").at("weight"), 2.5);
  ASSERT_EQ(patch(id, {{"resources", {{"maxSlots", nullptr}}}}).status, 200);
  EXPECT_EQ(sync("a", 4).desired.size(), 4u);
}

TEST_F(PatchTest, OfManyChangesAtOnceNoneIsLostAlsoWhenTheExperimentIsOver) {
  const auto id = submit();
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  EXPECT_EQ(experiment(id).at("state"), "STATE_CANCELED");
  const auto path = fmt::format("/api/v1/experiments/{}", id);
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i)
    writers.emplace_back([&, i] { call(user_, "PUT", fmt::format("{}/labels/label{}", path, i)); });
  writers.emplace_back([&] { call(user_, "PATCH", path, json::object{{"name", "renamed"}}); });
  writers.emplace_back([&] { call(user_, "PATCH", path, json::object{{"notes", "noted"}}); });
  for (int i = 0; i < 8; ++i)
    writers.emplace_back([&, i] {
      const json::object setting{{"key", fmt::format("key{}", i)}, {"storagePath", "p"}, {"value", "1"}};
      call(user_, "POST", "/api/v1/users/setting", json::object{{"settings", json::array{setting}}});
    });
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(experiment(id).at("labels").as_array().size(), 8u);
  EXPECT_EQ(experiment(id).at("name"), "renamed");
  EXPECT_EQ(experiment(id).at("notes"), "noted");
  EXPECT_EQ(call(user_, "GET", "/api/v1/users/setting").body.at("settings").as_array().size(), 8u);
}

TEST_F(PatchTest, AnExperimentKeepsAName) {
  const auto id = submit();
  for (const char* name : {"", " \t"}) EXPECT_EQ(patch(id, {{"name", name}}).status, 400);
  EXPECT_EQ(patch(id, {{"name", "mine"}}).status, 200);
  EXPECT_EQ(experiment(id).at("name"), "mine");
}

TEST_F(PatchTest, TheCheckpointPolicyOfALiveExperimentIsShownAtOnceAndReplayed) {
  const auto id = submit();
  const json::object policy{{"saveExperimentBest", 3}, {"saveTrialBest", 2}, {"saveTrialLatest", 0}};
  const auto answer = patch(id, {{"checkpointStorage", policy}});
  ASSERT_EQ(answer.status, 200) << answer.text;
  restart();
  const auto storage = config(id).at("checkpoint_storage");
  EXPECT_EQ(storage.at("save_experiment_best"), 3);
  EXPECT_EQ(storage.at("save_trial_best"), 2);
  EXPECT_EQ(storage.at("save_trial_latest"), 0);
}

TEST_F(PatchTest, APreviewOfAPolicyIsThereForALiveExperimentAndChangesNothing) {
  const auto id = submit();
  const auto before = config(id);
  const auto answer = call(user_, "GET",
                           fmt::format("/experiments/{}/preview_gc?save_experiment_best=0&save_trial_best=0&"
                                       "save_trial_latest=0",
                                       id));
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("metric_name"), "loss");
  EXPECT_TRUE(answer.body.at("checkpoints").get_array().empty());
  EXPECT_EQ(config(id), before);
}

TEST_F(PatchTest, WhatIsForbiddenIsNamedAndNothingOfTheRequestHappens) {
  const auto id = submit("resources: {slots_per_trial: 2}\n");
  for (const auto& [resources, words] :
       {std::pair{R"({"maxSlots":1})", "resources.max_slots is 1; it must be at least slots_per_trial"},
        std::pair{R"({"weight":0})", "resources.weight is 0; it must be a number greater than 0"},
        std::pair{R"({"weight":"much"})", "resources.weight is \"much\"; it must be a number"},
        std::pair{R"({"priority":100})", "resources.priority is 100; it must be from 1 to 99"},
        std::pair{R"({"slotsPerTrial":4})",
                  "resources.slotsPerTrial of a submitted experiment cannot be changed"},
        std::pair{R"([1])", "resources is [1]; it must be an object"}}) {
    const auto answer = patch(id, {{"name", "changed"}, {"resources", *json::parse(resources)}});
    EXPECT_EQ(answer.status, 400) << answer.text;
    EXPECT_NE(answer.body.at("error").at("error").get_string().find(words), std::string::npos) << answer.text;
  }
  EXPECT_EQ(experiment(id).at("name"), "tested");
  EXPECT_EQ(patch(99, {{"resources", {{"priority", 3}}}}).status, 404);
}

TEST_F(PatchTest, ResourcesOfAFinishedExperimentAreRefused) {
  const auto id = submit();
  ASSERT_EQ(call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id)).status, 200);
  const auto answer = patch(id, {{"resources", {{"priority", 3}}}});
  EXPECT_EQ(answer.status, 400) << answer.text;
  EXPECT_NE(answer.text.find("is finished; its resources"), std::string::npos);
  EXPECT_EQ(patch(id, {{"checkpointStorage", {{"saveTrialBest", 0}}}}).status, 200);
  EXPECT_EQ(config(id).at("checkpoint_storage").at("save_trial_best"), 0);
}

TEST_F(PatchTest, ABodyInWhichANameStandsTwiceIsRefusedByName) {
  const auto id = submit();
  const auto answer =
      call_text(user_, "PATCH", fmt::format("/api/v1/experiments/{}", id), R"({"name":"a","name":"b"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.text.find(R"(\"name\" appears twice in one object)"), std::string::npos) << answer.text;
  EXPECT_EQ(experiment(id).at("name"), "tested");
}

TEST_F(PatchTest, EventFilesGoWithTheirExperimentOrBeforeIt) {
  const auto cluster = std::string(call(user_, "GET", "/api/v1/master").body.at("clusterId").get_string());
  for (const bool whole : {true, false}) {
    const auto id = submit();
    const auto path = fmt::format("/api/v1/experiments/{}", id);
    const auto kept =
        directory_ / "checkpoints" / cluster / "tensorboard" / "experiment" / std::to_string(id);
    std::filesystem::create_directories(kept / "trial" / "1");
    EXPECT_EQ(call(user_, "DELETE", path + "/tensorboard-files").status, 400) << "its trials still write";
    EXPECT_EQ(call(user_, "POST", path + "/kill").status, 200);
    EXPECT_EQ(call(user_, "DELETE", path + (whole ? "" : "/tensorboard-files")).status, 200);
    const int gone = whole ? 404 : 200;
    for (int i = 0; i < 500 && call(user_, "GET", path).status != gone; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(call(user_, "GET", path).status, gone);
    EXPECT_FALSE(std::filesystem::exists(kept));
  }
}

TEST_F(PatchTest, TheUuidsToDeleteComeInABodyAndTheDocumentSaysSo) {
  const auto answer =
      call(user_, "DELETE", "/api/v1/checkpoints", {{"checkpointUuids", json::array{"no-such-uuid"}}});
  EXPECT_EQ(answer.status, 404) << answer.text;
  EXPECT_EQ(call(user_, "DELETE", "/api/v1/checkpoints").status, 400);
  const auto document = master_->openapi();
  const auto& operation = document.at("paths").at("/api/v1/checkpoints").at("delete").get_object();
  EXPECT_TRUE(operation.contains("requestBody"));
  EXPECT_FALSE(operation.contains("parameters"));
}

TEST_F(PatchTest, ANaNCompletesNoOperation) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto path = fmt::format("/api/v1/trials/{}/searcher/completed_operation", task.trial_id);
  const json::object op{{"validateAfter", {{"length", "1000"}}}};
  EXPECT_EQ(call(task.token, "POST", path, {{"op", op}, {"searcherMetric", "NaN"}}).status, 400);
  EXPECT_EQ(report(task, "validation", 500, "NaN").status, 200) << "reported it may be";
  EXPECT_EQ(call(task.token, "POST", path, {{"op", op}, {"searcherMetric", "Infinity"}}).status, 200);
}

}  // namespace
}  // namespace det::master
