#include "det/cli/experiment/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "det/base/text.h"
#include "det/cli/experiment/experiment_document.h"
#include "det/cli/output/format.h"
#include "det/cli/test_master.h"

namespace det::cli {
namespace {

using test::det;
using test::run_words;
using test::TemporaryDirectory;
using test::TestMaster;
using ::testing::HasSubstr;

constexpr const char* kConfig =
    "description: mnist_pytorch_const\n"
    "hyperparameters:\n"
    "    learning_rate: 1e-3   # a comment\n"
    "searcher:\n"
    "    name: single\n"
    "    metric: validation_error\n"
    "    max_steps: 20\n"
    "    smaller_is_better: true\n"
    "entrypoint: model_def:MNistTrial\n";

// The tutorial's directory, and the current one while it exists.
class Tutorial {
 public:
  Tutorial() : before_(std::filesystem::current_path()) {
    config = directory_.write("mnist_pytorch/const.yaml", kConfig);
    directory_.write("mnist_pytorch/__init__.py", "");
    directory_.write("mnist_pytorch/model_def.py", std::string(1695, '#'));
    directory_.write("mnist_pytorch/data.py", "");
    std::filesystem::current_path(directory_.path() + "/mnist_pytorch");
  }
  ~Tutorial() { std::filesystem::current_path(before_); }

  std::string config;

 private:
  std::filesystem::path before_;
  TemporaryDirectory directory_;
};

TEST(CreateExperiment, SaysWhatTheTutorialPromises) {
  TestMaster master;
  const Tutorial tutorial;
  master.answer("POST /api/v1/experiments", R"({"experiment":{"id":7},"config":{},"warnings":[]})");
  const auto outcome = det("experiment create const.yaml .", master);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "Preparing files (../mnist_pytorch) to send to master... 2.5KB and 4 files\n"
            "Created experiment 7\n"
            "Activated experiment 7\n");
  const auto body = master.last_body("POST /api/v1/experiments");
  EXPECT_EQ(body.at("config"), kConfig);
  EXPECT_EQ(body.at("activate"), true);
  EXPECT_EQ(body.at("modelDefinition").as_array().size(), 4u);
  EXPECT_EQ(body.at("modelDefinition").at(1).at("path"), "const.yaml");
  EXPECT_FALSE(body.as_object().contains("template"));
}

TEST(CreateExperiment, RewritesItsLineOnATerminal) {
  TestMaster master;
  const Tutorial tutorial;
  master.answer("POST /api/v1/experiments", R"({"experiment":{"id":7}})");
  EXPECT_THAT(det("e create const.yaml .", master, {.tty = true}).out,
              HasSubstr("0.0B and 0 files\r\x1b[KPreparing files (../mnist_pytorch) to send to master... "
                        "0.0B and 1 files\r\x1b[K"));
}

TEST(CreateExperiment, PassesItsFlagsOn) {
  TestMaster master;
  const Tutorial tutorial;
  master.answer("POST /api/v1/experiments",
                R"({"experiment":{"id":8},"warnings":["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]})");
  const auto outcome =
      det("e create const.yaml --paused --template small --project_id 3 -i model_def.py "
          "--config searcher.max_steps=2 --config hyperparameters.layers=1,2",
          master);
  EXPECT_EQ(outcome.out,
            "Preparing files to send to master... 2.2KB and 1 files\n"
            "Created experiment 8\n"
            "Warning: no agent of the cluster can run the experiment; it waits until one can.\n");
  const auto body = master.last_body("POST /api/v1/experiments");
  EXPECT_EQ(body.at("activate"), false);
  EXPECT_EQ(body.at("template"), "small");
  EXPECT_EQ(body.at("projectId"), 3);
  const std::string config = cell_text(body.at("config"));
  EXPECT_THAT(config, HasSubstr("max_steps: 2\n"));
  EXPECT_THAT(config, HasSubstr("layers:\n"));
  EXPECT_THAT(config, HasSubstr("learning_rate: 0.001\n"));
}

TEST(CreateExperiment, ShowsEveryProblemOnALine) {
  TestMaster master;
  const Tutorial tutorial;
  master.refuse(
      "POST /api/v1/experiments", 400,
      "<config>.searcher.metric: is required\n<config>.max_restarts (line 3): -1 is not at least 0");
  const auto outcome = det("e create const.yaml .", master);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "Failed to create experiment:\n"
            "  <config>.searcher.metric: is required\n"
            "  <config>.max_restarts (line 3): -1 is not at least 0\n");
}

TEST(CreateExperiment, RefusesConfigurationsThatAreNoMap) {
  TestMaster master;
  const TemporaryDirectory directory;
  const auto list = directory.write("list.yaml", "- a\n");
  EXPECT_THAT(det("e create " + list + " .", master).err,
              HasSubstr("Error: invalid experiment config file " + list));
  EXPECT_THAT(det("e create " + directory.write("bad.yaml", "a: [1\n") + " .", master).err,
              HasSubstr("Error: invalid experiment config file"));
  EXPECT_THAT(det("e create " + directory.path() + " .", master).err, HasSubstr("is a directory"));
  EXPECT_THAT(det("e create /no/such.yaml .", master).err,
              HasSubstr("cannot open the configuration file /no/such.yaml: No such file or directory"));
  EXPECT_THAT(det("e create " + directory.write("ok.yaml", "a: 1\n") + " /no/such", master).err,
              HasSubstr("Failed to create experiment: Path '/no/such' doesn't exist"));
  EXPECT_THAT(det("e create " + directory.path() + "/ok.yaml . --config nonsense", master).err,
              HasSubstr("Could not read configuration option 'nonsense'. Expecting: --config <key>=<value>"));
  EXPECT_TRUE(master.asked().empty());
}

TEST(CreateExperiment, FollowsTheFirstTrialToItsEnd) {
  TestMaster master;
  const Tutorial tutorial;
  master.answer("POST /api/v1/experiments", R"({"experiment":{"id":7}})");
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[]})");
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[{"id":12}]})");
  master.answer("GET /api/v1/experiments/7", R"({"experiment":{"id":7,"state":"STATE_ACTIVE"}})");
  master.stream("GET /api/v1/trials/12/logs",
                {R"({"result":{"id":"1","timestamp":"2026-01-02T03:04:05Z","message":"one\n"}})"});
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"state":"STATE_COMPLETED"}})");
  const auto outcome = det("e create const.yaml . -f", master);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, ::testing::EndsWith(
                               "Waiting for first trial to begin...\n"
                               "Following first trial with ID 12\n"
                               "one\n"
                               "Trial log stream ended. To reopen log stream, run: det trial logs -f 12\n"));
}

TEST(CreateExperiment, ThatIsFollowedFailsWithItsTrial) {
  TestMaster master;
  const Tutorial tutorial;
  master.answer("POST /api/v1/experiments", R"({"experiment":{"id":7}})");
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[{"id":12}]})");
  master.answer("GET /api/v1/experiments/7",
                R"({"experiment":{"id":7,"state":"STATE_ERROR","error":"trial 12 failed 5 times"}})");
  master.stream("GET /api/v1/trials/12/logs", {});
  master.answer("GET /api/v1/trials/12", R"({"trial":{"id":12,"state":"STATE_ERROR"}})");
  const auto outcome = det("e create const.yaml . -f", master);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "Trial 12 ended in state ERROR\ntrial 12 failed 5 times\n");
}

TEST(CreateExperiment, LocallyNeedsTestMode) {
  TestMaster master;
  const Tutorial tutorial;
  const auto outcome = det("e create const.yaml . --local", master);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("local training is not yet supported without test mode"));
}

TEST(CreateExperiment, NeedsARepositoryForGit) {
  TestMaster master;
  const Tutorial tutorial;
  EXPECT_THAT(det("e create const.yaml . --git", master).err, HasSubstr("is not in a git working directory"));
  EXPECT_TRUE(master.asked().empty());
}

TEST(TestMode, TrainsOneBatchInTheGenerationOfTheConfiguration) {
  const TemporaryDirectory directory;
  const auto steps = read_experiment_document(directory.write("a.yaml", kConfig), {}).value();
  EXPECT_EQ(
      test_mode_text(steps, {}),
      "batches_per_step: 1\n"
      "checkpoint_storage:\n  save_experiment_best: 0\n  save_trial_best: 0\n  save_trial_latest: 0\n"
      "description: \"[test-mode] mnist_pytorch_const\"\n"
      "entrypoint: model_def:MNistTrial\n"
      "hyperparameters:\n  learning_rate: 0.001\n"
      "max_restarts: 0\n"
      "min_validation_period: 1\n"
      "searcher:\n  max_steps: 1\n  metric: validation_error\n  name: single\n  smaller_is_better: true\n");
  const auto lengths =
      read_experiment_document(
          directory.write("b.yaml", "name: b\nsearcher: {name: random, max_length: {epochs: 3}}\n"), {})
          .value();
  const auto resolved = json::parse(R"({"searcher":{"metric":"from_template"}})").value();
  const auto text = test_mode_text(lengths, resolved);
  EXPECT_THAT(text, HasSubstr("scheduling_unit: 1\n"));
  EXPECT_THAT(
      text, HasSubstr("searcher:\n  max_length:\n    batches: 1\n  metric: from_template\n  name: single\n"));
}

TEST(TestMode, ShowsItsStagesAndSucceeds) {
  TestMaster master;
  const Tutorial tutorial;
  master.answer("POST /api/v1/experiments", R"({"experiment":{"id":0},"config":{}})");
  master.answer("POST /api/v1/experiments", R"({"experiment":{"id":7}})");
  master.answer("GET /api/v1/experiments/7", R"({"experiment":{"id":7,"state":"STATE_COMPLETED"}})");
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[{"id":12,"state":"STATE_COMPLETED"}]})");
  master.answer("POST /api/v1/experiments/7/archive", "{}");
  const auto outcome = det("e create const.yaml . --test", master);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              HasSubstr("Validating experiment configuration...\nExperiment configuration validation "
                        "succeeded! \U0001F389\n"
                        "Creating test experiment...\nCreated test experiment 7\n"
                        "Scheduling task.......... [\u2713], Testing training......... [\u2713], "
                        "Testing validation....... [\u2713], Testing checkpointing.... [\u2713]\n"
                        "Model definition test succeeded! \U0001F389\n"));
}

TEST(TestMode, ShowsTheLogOfAFailure) {
  TestMaster master;
  const Tutorial tutorial;
  master.answer("POST /api/v1/experiments", R"({"experiment":{"id":7},"config":{}})");
  master.answer("GET /api/v1/experiments/7", R"({"experiment":{"id":7,"state":"STATE_ERROR"}})");
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[{"id":12,"state":"STATE_ERROR"}]})");
  master.stream("GET /api/v1/trials/12/logs", {R"({"result":{"id":"1","message":"NameError: x\n"}})"});
  const auto outcome = det("e create const.yaml . -t", master);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("Testing training......... [x]"));
  EXPECT_THAT(outcome.out, HasSubstr("NameError: x\n"));
}

TEST(ListExperiments, ShowsOnesOwnThatAreNotArchived) {
  TestMaster master;
  master.answer("GET /api/v1/experiments", R"({"experiments":[
      {"id":2,"name":"n","description":"d","username":"determined","state":"STATE_COMPLETED","progress":1,"startTime":"2026-01-02T03:04:05Z",
       "endTime":"2026-01-02T03:05:05Z","resourcePool":"default","forkedFrom":null,"archived":false},
      {"id":1,"name":"","description":"gen1","username":"determined","state":"STATE_RUNNING","progress":null,"startTime":"2026-01-02T03:04:05Z"}],
      "pagination":{"total":2}})");
  EXPECT_EQ(det("e", master).out,
            "   ID | Owner      | Name   | Parent ID   | State     | Progress   | Started                  | "
            "Ended                    | Resource Pool\n"
            "------+------------+--------+-------------+-----------+------------+--------------------------+-"
            "-------------------------+-----------------\n"
            "    2 | determined | n      |             | COMPLETED | 100.0%     | 2026-01-02 03:04:05+0000 | "
            "2026-01-02 03:05:05+0000 | default\n"
            "    1 | determined | gen1   |             | RUNNING   |            | 2026-01-02 03:04:05+0000 | "
            "                         |\n");
  EXPECT_EQ(master.asked()[0],
            "GET /api/v1/experiments?archived=false&users=determined&omitConfig=true&limit=200&offset=0");
  EXPECT_THAT(det("e ls -a --csv", master).out,
              HasSubstr("2,determined,n,,COMPLETED,100.0%,2026-01-02 03:04:05+0000,2026-01-02 "
                        "03:05:05+0000,default,False\r\n"));
  EXPECT_EQ(master.asked()[1], "GET /api/v1/experiments?omitConfig=true&limit=200&offset=0");
}

TEST(ListCheckpoints, CanShowTheBestOnly) {
  TestMaster master;
  master.answer("GET /api/v1/experiments/7",
                R"({"experiment":{"config":{"searcher":{"metric":"acc","smaller_is_better":false}}}})");
  master.answer("GET /api/v1/experiments/7/checkpoints", R"({"checkpoints":[
      {"uuid":"u1","state":"STATE_COMPLETED","resources":{"a":"1024","b/":"0"},"metadata":{"steps_completed":100},"training":{"trialId":3,"searcherMetric":0.5}},
      {"uuid":"u2","state":"STATE_COMPLETED","resources":{},"metadata":{"steps_completed":200},"training":{"trialId":3,"searcherMetric":0.75}},
      {"uuid":"u3","state":"STATE_COMPLETED","resources":{},"metadata":{},"training":{"trialId":3}}],"pagination":{"total":3}})");
  EXPECT_EQ(
      det("e lc 7 --best 2", master).out,
      "   Trial ID |   # of Batches | State     |   Validation Metric | UUID   | Resources   | Size\n"
      "            |                |           |               (acc) |        |             |\n"
      "------------+----------------+-----------+---------------------+--------+-------------+--------\n"
      "          3 |            200 | COMPLETED |                0.75 | u2     |             | 0.0B\n"
      "          3 |            100 | COMPLETED |                0.5  | u1     | a           | 1.0KB\n"
      "            |                |           |                     |        | b/          |\n");
}

TEST(DescribeExperiment, ShowsThreeTablesOrWritesThem) {
  TestMaster master;
  const TemporaryDirectory directory;
  master.answer(
      "GET /api/v1/experiments/7",
      R"({"experiment":{"id":7,"state":"STATE_COMPLETED","progress":1,"name":"n","description":"d","archived":false,"labels":["a","b"],"git":{"commit":"89abcdef012345","branch":"main","dirty":true}}})");
  master.answer(
      "GET /api/v1/experiments/7/trials",
      R"({"trials":[{"id":12,"state":"STATE_COMPLETED","hparams":{"lr":0.5}}],"pagination":{"total":1}})");
  master.answer(
      "GET /api/v1/trials/12/workloads",
      R"({"workloads":[{"training":{"totalBatches":100,"metrics":{"avgMetrics":{"loss":0.5}}}}],"pagination":{"total":1}})");
  const auto shown = det("e describe 7 --metrics", master).out;
  EXPECT_THAT(shown, ::testing::StartsWith("Experiment:\n   Experiment ID | State     | Progress"));
  EXPECT_THAT(shown, HasSubstr("\n\nTrials:\n   Trial ID |   Experiment ID | State"));
  EXPECT_THAT(shown, HasSubstr("\n\nWorkloads:\n   Trial ID |   # of Batches | State     | Report Time   |   "
                               "Training Metric: loss | Checkpoint State"));
  EXPECT_EQ(det("e describe 7 --outdir " + directory.path(), master).code, 0);
  std::ifstream file(directory.path() + "/experiments.csv");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "Experiment ID,State,Progress,Started,Ended,Name,Description,Archived,Resource Pool,Labels,Git "
            "Revision\r\n"
            "7,COMPLETED,100.0%,,,n,d,False,,\"a, b\",\"89abcdef0123 (main, changed)\"\r\n");
  EXPECT_TRUE(std::filesystem::exists(directory.path() + "/workloads.csv"));
  const auto document = json::parse(det("e describe 7 --json", master).out).value();
  EXPECT_EQ(document.at(0).at("trials").at(0).at("workloads").as_array().size(), 1u);
  EXPECT_THAT(det("e describe x", master).err, HasSubstr("'x' is not an experiment ID"));
}

TEST(DescribeExperiment, SaysWhyItFailed) {
  TestMaster master;
  master.answer("GET /api/v1/experiments/7",
                R"({"experiment":{"id":7,"state":"STATE_ERROR","error":"trial 12 failed 5 times"}})");
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[],"pagination":{"total":0}})");
  EXPECT_THAT(det("e describe 7", master).out, HasSubstr("\nExperiment 7 failed: trial 12 failed 5 times\n"));
}

TEST(WaitForExperiment, EndsWellOnlyIfTheExperimentDoes) {
  TestMaster master;
  master.answer("GET /api/v1/experiments/7", R"({"experiment":{"state":"STATE_RUNNING"}})");
  master.answer("GET /api/v1/experiments/7", R"({"experiment":{"state":"STATE_COMPLETED"}})");
  master.answer("GET /api/v1/experiments/8", R"({"experiment":{"state":"STATE_CANCELED"}})");
  const auto good = det("e wait 7 --polling-interval 0.01", master);
  EXPECT_EQ(good.out, "Experiment 7 terminated with state COMPLETED\n");
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(det("e wait 8", master).code, 1);
}

TEST(ChangeExperiment, SaysWhatItDid) {
  TestMaster master;
  for (const auto* verb : {"pause", "activate", "cancel", "kill", "archive", "unarchive"})
    master.answer(std::string("POST /api/v1/experiments/7/") + verb, "{}");
  EXPECT_EQ(det("e pause 7", master).out, "Paused experiment 7\n");
  EXPECT_EQ(det("e activate 7", master).out, "Activated experiment 7\n");
  EXPECT_EQ(det("e cancel 7", master).out, "Canceled experiment 7\n");
  EXPECT_EQ(det("e kill 7", master).out, "Killed experiment 7\n");
  EXPECT_EQ(det("e archive 7", master).out, "Archived experiment 7\n");
  EXPECT_EQ(det("e unarchive 7", master).out, "Unarchived experiment 7\n");
  master.answer("PUT /api/v1/experiments/7/labels/a%20b", "{}");
  EXPECT_EQ(run_words({"e", "label", "add", "7", "a b"}, {{"DET_MASTER", master.url()}}).out,
            "Added label 'a b' to experiment 7\n");
  master.answer("PATCH /api/v1/experiments/7", "{}");
  EXPECT_EQ(det("e set name 7 best", master).out, "Set name of experiment 7 to 'best'\n");
  EXPECT_EQ(master.last_body("PATCH /api/v1/experiments/7"), json::parse(R"({"name":"best"})").value());
  EXPECT_EQ(det("e set max-slots 7 none", master).out, "Set `max_slots` of experiment 7 to none\n");
  EXPECT_EQ(master.last_body("PATCH /api/v1/experiments/7"),
            json::parse(R"({"resources":{"maxSlots":null}})").value());
  EXPECT_EQ(det("e set max-trials 7 64", master).out, "Set `max_trials` of experiment 7 to 64\n");
  EXPECT_EQ(master.last_body("PATCH /api/v1/experiments/7"),
            json::parse(R"({"searcher":{"maxTrials":64}})").value());
  EXPECT_THAT(det("e set priority 7 high", master).err,
              HasSubstr("priority is 'high'; it must be an integer of at least 0"));
}

TEST(Experiment, ParetoListsWhatNothingElseBeats) {
  TestMaster master;
  master.answer("GET /api/v1/experiments/7/pareto", R"({"metrics":["loss","acc:max"],"front":[
      {"trialId":3,"batches":"100","values":[0.5,0.9],"hparams":{"lr":0.1},"checkpointUuid":"u"}]})");
  EXPECT_EQ(det("e pareto 7 --metric loss --metric acc:max", master).out,
            "   Trial ID |   # of Batches |   loss |   acc:max | H-params   | Checkpoint\n"
            "------------+----------------+--------+-----------+------------+--------------\n"
            "          3 |            100 |    0.5 |       0.9 | {\"lr\":0.1} | u\n");
  EXPECT_EQ(master.asked().back(), "GET /api/v1/experiments/7/pareto?metrics=loss&metrics=acc%3Amax");
}

TEST(Experiment, LabelListShowsEachLabelInALine) {
  TestMaster master;
  master.answer("GET /api/v1/experiments/7", R"({"experiment":{"id":7,"labels":["a","b c"]}})");
  const auto table = run_words({"e", "label", "list", "7"}, {{"DET_MASTER", master.url()}}).out;
  EXPECT_THAT(table, ::testing::HasSubstr("b c"));
  EXPECT_EQ(json::parse(run_words({"e", "label", "list", "7", "--json"}, {{"DET_MASTER", master.url()}}).out)
                .value(),
            (json::value{"a", "b c"}));
}

TEST(DeleteExperiment, AsksFirst) {
  TestMaster master;
  master.answer("DELETE /api/v1/experiments/7", "{}");
  EXPECT_EQ(det("e delete 7", master, {.typed = {"n"}}).out, "Aborting experiment deletion.\n");
  EXPECT_EQ(det("e delete 7", master, {.typed = {"y"}}).out, "Deletion of experiment 7 is in progress\n");
  EXPECT_EQ(det("e delete 7 --yes", master).out, "Deletion of experiment 7 is in progress\n");
}

TEST(DownloadModelDefinition, WritesTheArchive) {
  TestMaster master;
  const TemporaryDirectory directory;
  master.answer("GET /api/v1/experiments/7/model_def", R"({"b64Tgz":"aGVsbG8="})");
  const auto path = directory.path() + "/out/experiment_7_model_def.tgz";
  EXPECT_EQ(det("e download-model-def 7 --output-dir " + directory.path() + "/out", master).out, path + "\n");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "hello");
}

}  // namespace
}  // namespace det::cli
