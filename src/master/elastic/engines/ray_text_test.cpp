#include "det/master/elastic/engines/ray_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::master {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const PilotSettings kRayPilot{
    .master_url = "http://head:8080", .certificate = {}, .certificate_name = {}, .log_dir = "/logs"};
const EngineRequest kRayRequest{.name = "det-3f2a1b77-17", .id = "17", .nodes = 2, .token = "SECRET"};

TEST(RayText, ANodeHasItsSlotsAsCpusOrGpus) {
  struct Case {
    int slots;
    bool gpus;
    int cpus;
    std::map<std::string, double> resources;
    std::string bundle;
  };
  const std::vector<Case> cases = {
      {2, false, 0, {}, R"({"CPU":2})"},
      {2, false, 6, {}, R"({"CPU":6})"},
      {4, true, 0, {}, R"({"GPU":4})"},
      {4, true, 16, {}, R"({"CPU":16,"GPU":4})"},
      {1, true, 0, {{"accelerator_type:A100", 0.5}}, R"({"GPU":1,"accelerator_type:A100":0.5})"},
  };
  for (const auto& c : cases) {
    ProviderSettings settings{.gpus = c.gpus, .resources = c.resources};
    settings.limits.slots_per_node = c.slots, settings.cpus_per_node = c.cpus;
    EXPECT_EQ(json::serialize(ray_bundle(settings)), c.bundle);
  }
}

TEST(RayText, TheTokenIsInTheEnvironmentAlone) {
  ProviderSettings settings;
  settings.program = "/opt/det";
  auto submission = ray_submission(settings, kRayPilot, kRayRequest, "KEEPER");
  EXPECT_EQ(submission.at("nodes").get_int64(), 2);
  EXPECT_EQ(submission.at("keeper").get_string(), "KEEPER");
  auto& work = submission.at("work").get_object();
  EXPECT_THAT(std::string(work.at("script").get_string()), HasSubstr("--node \"$DET_NODE\""));
  EXPECT_FALSE(work.contains("limit"));
  EXPECT_EQ(work.at("environment").at("DET_PILOT_TOKEN").get_string(), "SECRET");
  work.erase("environment");
  EXPECT_THAT(json::serialize(submission), Not(HasSubstr("SECRET")));
  settings.time_limit = 600;
  EXPECT_EQ(ray_submission(settings, kRayPilot, kRayRequest, "").at("work").at("limit").get_int64(), 600);
}

TEST(RayText, ReadsTheListOfJobs) {
  const auto answer = json::parse(R"({"jobs": [
      {"name": "det-x-1", "id": "ab", "state": "pending", "reason": "waits"},
      {"name": "det-x-2", "id": "cd", "state": "running", "reason": "runs", "started": 1000},
      {"name": "det-x-3", "id": "ef", "state": "ended", "reason": "died"}]})");
  const auto jobs = read_ray_jobs(answer->get_object(), 60);
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 3u);
  EXPECT_EQ(jobs->at(0).state, EngineJob::State::Pending);
  EXPECT_EQ(jobs->at(0).reason, "waits");
  EXPECT_EQ(jobs->at(1).state, EngineJob::State::Running);
  EXPECT_EQ(jobs->at(1).ends, Time{1'060 * kSecond});
  EXPECT_EQ(jobs->at(2).state, EngineJob::State::Ended);
  EXPECT_EQ(jobs->at(2).id, "ef");
  EXPECT_EQ(read_ray_jobs(answer->get_object(), 0)->at(1).ends, std::nullopt);
  EXPECT_FALSE(read_ray_jobs({}, 0));
}

TEST(RayText, TellsSilenceFromRefusal) {
  struct Case {
    std::string line;
    ErrorCode code;
    std::string message;
  };
  const std::vector<Case> cases = {
      {R"({"error": "no head at box:6379", "silent": true})", ErrorCode::Unavailable,
       "Ray does not answer: no head at box:6379"},
      {R"({"error": "no module ray"})", ErrorCode::FailedPrecondition, "Ray: no module ray"},
      {"Segmentation fault", ErrorCode::Unavailable, "Ray: the helper wrote 'Segmentation fault'"},
  };
  for (const auto& c : cases) {
    const auto answer = read_ray_answer(c.line);
    ASSERT_FALSE(answer) << c.line;
    EXPECT_EQ(answer.error().code(), c.code);
    EXPECT_EQ(answer.error().message(), c.message);
  }
  EXPECT_TRUE(read_ray_answer(R"({"id": "ab"})"));
}

}  // namespace
}  // namespace det::master
