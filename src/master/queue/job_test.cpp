// The job queue over HTTP: its order, who may change it, why something waits, and what a restart keeps.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Jobs : public testing::MasterTest {
 protected:
  std::vector<std::string> queue() {
    std::vector<std::string> ids;
    const auto answer = call(user_, "GET", "/api/v1/job-queues-v2?resourcePool=default");
    for (const auto& job : answer.body.at("jobs").get_array())
      ids.emplace_back(job.at("full").at("entityId").get_string());
    return ids;
  }
  testing::Answer update(const json::object& change) {
    return call(user_, "POST", "/api/v1/job-queues", json::object{{"updates", json::array{change}}});
  }
  json::value why(std::int64_t id) {
    return call(user_, "GET", fmt::format("/api/v1/job-queues/{}/why", id)).body;
  }
};

TEST_F(Jobs, AreMovedAheadAndBehindAndStayThereOverARestart) {
  for (int i = 0; i < 4; ++i) submit();
  EXPECT_THAT(queue(), ElementsAre("1", "2", "3", "4"));
  EXPECT_EQ(update({{"jobId", "4"}, {"aheadOf", "1"}}).status, 200);
  EXPECT_EQ(update({{"jobId", "2"}, {"behindOf", "3"}}).status, 200);
  EXPECT_THAT(queue(), ElementsAre("4", "1", "3", "2"));
  EXPECT_EQ(update({{"jobId", "1"}, {"aheadOf", "1"}}).status, 200) << "nothing to do";
  restart();
  EXPECT_THAT(queue(), ElementsAre("4", "1", "3", "2"));
  EXPECT_EQ(sync("a", 1).desired.at(0).experiment_id, ExperimentId{4});
}

TEST_F(Jobs, ThatDoNotExistOrChangesThatMeanNothingAreRefused) {
  submit();
  EXPECT_EQ(update({{"jobId", "7"}, {"aheadOf", "1"}}).status, 404);
  EXPECT_EQ(update({{"jobId", "1"}, {"behindOf", "7"}}).status, 404);
  EXPECT_EQ(update({{"jobId", "1"}}).status, 400);
  EXPECT_EQ(update({{"jobId", "1"}, {"priority", 3}, {"weight", 2}}).status, 400);
  EXPECT_EQ(update({{"jobId", "1"}, {"priority", 100}}).status, 400);
  EXPECT_EQ(update({{"jobId", "1"}, {"resourcePool", "gone"}}).status, 404);
  EXPECT_EQ(call(user_, "GET", "/api/v1/job-queues/7/why").status, 404);
}

TEST_F(Jobs, SayWhyTheyWait) {
  submit();
  submit("resources: {slots_per_trial: 2}\n");
  submit("resources: {slots_per_trial: 3}\n");
  EXPECT_THAT(std::string(why(1).at("explanation").get_string()),
              HasSubstr("the resource pool has no agents"));
  sync("a", 2);
  EXPECT_THAT(std::string(why(1).at("explanation").get_string()), HasSubstr("it is not waiting"));
  const auto second = why(2);
  EXPECT_THAT(std::string(second.at("explanation").get_string()),
              HasSubstr("needs 2 slots; 1 is free on 1 agent"));
  EXPECT_FALSE(second.at("trials").at(0).at("canNeverRun").get_bool());
  const auto third = why(3);
  EXPECT_TRUE(third.at("trials").at(0).at("canNeverRun").get_bool());
  EXPECT_THAT(std::string(third.at("explanation").get_string()), HasSubstr("the resource pool has 2 slots"));
  submit();
  const auto fourth = why(4);
  EXPECT_EQ(fourth.at("trials").at(0).at("behindJobId"), second.at("job").at("jobId"));
  EXPECT_EQ(fourth.at("job").at("summary").at("jobsAhead"), 3);
  call(user_, "POST", "/api/v1/experiments/4/pause");
  EXPECT_THAT(std::string(why(4).at("explanation").get_string()), HasSubstr("is paused"));
}

TEST_F(Jobs, DoNotStandInTheQueueWhileTheyArePaused) {
  const auto listed = [&] {
    std::string ids;
    const auto answer = call(user_, "GET", "/api/v1/job-queues-v2");
    for (const auto& job : answer.body.at("jobs").as_array())
      ids += std::string(job.at("full").at("entityId").get_string());
    return ids;
  };
  submit();
  submit();
  submit();
  const auto task = sync("a", 1).desired.at(0);
  EXPECT_EQ(listed(), "123");
  call(user_, "POST", "/api/v1/experiments/1/pause");
  call(user_, "POST", "/api/v1/experiments/2/pause");
  EXPECT_EQ(listed(), "13") << "the first still has its slot";
  exit("a", 1, task.allocation_id, 0);
  EXPECT_EQ(listed(), "3");
  const auto stats = call(user_, "GET", "/api/v1/job-queues/stats").body.at("results").at(0).at("stats");
  EXPECT_EQ(stats.at("scheduledCount"), 1);
  EXPECT_EQ(stats.at("queuedCount"), 0);
  call(user_, "POST", "/api/v1/experiments/2/activate");
  EXPECT_EQ(listed(), "23") << "its place in the queue is kept";
}

TEST_F(Jobs, AreCounted) {
  submit();
  submit();
  sync("a", 1);
  const auto stats = call(user_, "GET", "/api/v1/job-queues/stats").body.at("results").at(0).at("stats");
  EXPECT_EQ(stats.at("scheduledCount"), 1);
  EXPECT_EQ(stats.at("queuedCount"), 1);
}

}  // namespace
}  // namespace det::master
