// What each parameter of a list changes in the reply.

#include "det/master/testing.h"

namespace det::master {
namespace {

class ParametersTest : public testing::MasterTest {
 protected:
  /// "a b": a text of each item of a list in the reply.
  std::string shown(const std::string& path, const char* list, const char* member) {
    const auto answer = call(user_, "GET", path);
    if (answer.status != 200) return std::to_string(answer.status);
    std::string text;
    for (const auto& item : answer.body.at(list).as_array())
      text += (text.empty() ? "" : " ") + std::string(item.at(member).as_string());
    return text;
  }
};

struct Row {
  std::string query, shown;
};

TEST_F(ParametersTest, AgentsAreSortedByIdOrByTheTimeAtWhichTheyJoined) {
  for (const auto* agent : {"b", "a", "c"}) sync(agent, 1);
  for (const auto& [query, expected] :
       std::vector<Row>{{"", "a b c"},
                        {"sortBy=SORT_BY_ID", "a b c"},
                        {"sortBy=SORT_BY_TIME", "b a c"},
                        {"orderBy=ORDER_BY_DESC", "c b a"},
                        {"sortBy=SORT_BY_TIME&orderBy=ORDER_BY_DESC", "c a b"},
                        {"sortBy=SORT_BY_TIME&limit=1&offset=1", "a"},
                        {"sortBy=AGE", "400"},
                        {"orderBy=DOWN", "400"}})
    EXPECT_EQ(shown("/api/v1/agents?" + query, "agents", "id"), expected) << query;
}

TEST_F(ParametersTest, AgentsAreShownWithoutSlotsOrAllocationsOnDemand) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  struct Case {
    const char* query;
    std::size_t slots, containers;
  };
  for (const auto& [query, slots, containers] : {Case{"", 1, 1},
                                                 {"excludeSlots=true", 0, 1},
                                                 {"excludeContainers=true", 1, 0},
                                                 {"excludeSlots=true&excludeContainers=true", 0, 0}}) {
    const auto agent = call(user_, "GET", fmt::format("/api/v1/agents?{}", query)).body.at("agents").at(0);
    EXPECT_EQ(agent.at("slots").as_object().size(), slots) << query;
    EXPECT_EQ(agent.at("containers").as_object().size(), containers) << query;
  }
}

TEST_F(ParametersTest, TemplatesAreThoseOfTheWorkspacesSortedByName) {
  const auto made = call(user_, "POST", "/api/v1/workspaces", {{"name", "vision"}});
  const auto vision = *json::to_int64(made.body.at("workspace").at("id"));
  for (const auto& [name, workspace] :
       {std::pair{"beta", std::int64_t{1}}, {"alpha", vision}, {"gamma", vision}})
    call(user_, "POST", fmt::format("/api/v1/templates/{}", name),
         {{"name", name}, {"config", {{"max_restarts", 2}}}, {"workspaceId", workspace}});
  for (const auto& [query, expected] :
       std::vector<Row>{{"", "alpha beta gamma"},
                        {"sortBy=SORT_BY_NAME&orderBy=ORDER_BY_DESC", "gamma beta alpha"},
                        {fmt::format("workspaceIds={}", vision), "alpha gamma"},
                        {fmt::format("workspaceIds=1&workspaceIds={}&limit=2", vision), "alpha beta"},
                        {"workspaceIds=99", ""},
                        {"sortBy=NAME", "400"}})
    EXPECT_EQ(shown("/api/v1/templates?" + query, "templates", "name"), expected) << query;
}

TEST_F(ParametersTest, UnboundResourcePoolsAreThoseOfAllWorkspaces) {
  for (const auto* pool : {"gpu", "spare"}) {
    api::SyncRequest request{.session = "session", .sequence = 1, .version = "1", .hostname = pool};
    request.resource_pool = pool;
    call(agent_token(), "POST", fmt::format("/api/v1/agents/{}/sync", pool), http::to_wire(request));
  }
  call(user_, "POST", "/api/v1/workspaces", {{"name", "vision"}});
  const auto bound = call(admin_, "POST", "/api/v1/resource-pools/gpu/workspace-bindings",
                          {{"workspaceNames", json::array{"vision"}}});
  ASSERT_EQ(bound.status, 200) << bound.text;
  for (const auto& [query, expected] : std::vector<Row>{{"", "default gpu spare"},
                                                        {"unbound=false", "default gpu spare"},
                                                        {"unbound=true", "default spare"},
                                                        {"unbound=true&limit=1", "default"}})
    EXPECT_EQ(shown("/api/v1/resource-pools?" + query, "resourcePools", "name"), expected) << query;
}

TEST_F(ParametersTest, WorkloadsAreOfTheWantedKindInTheWantedOrder) {
  const auto id = submit();
  const auto task = sync("a", 1).desired.at(0);
  for (const auto& [batches, loss] : {std::pair{10, 0.25}, {20, 0.75}, {30, 0.5}})
    ASSERT_EQ(report(task, "training", batches, loss).status, 200);
  ASSERT_EQ(report(task, "validation", 20, 0.125).status, 200);
  const auto path = fmt::format("/api/v1/trials/{}/workloads?", task.trial_id);
  const auto kinds = [&](const std::string& query) {
    const auto answer = call(user_, "GET", path + query);
    if (answer.status != 200) return std::to_string(answer.status);
    std::string text;
    for (const auto& item : answer.body.at("workloads").as_array())
      for (const auto& [kind, workload] : item.as_object())
        text += fmt::format("{}{}{}", text.empty() ? "" : " ", kind.front(),
                            *json::to_int64(workload.at("totalBatches")));
    return text;
  };
  for (const auto& [query, expected] :
       std::vector<Row>{{"", "t10 t20 v20 t30"},
                        {"sortKey=batches&orderBy=ORDER_BY_DESC", "t30 v20 t20 t10"},
                        {"sortKey=loss", "v20 t10 t30 t20"},
                        {"sortKey=training.loss&orderBy=ORDER_BY_DESC", "t20 t30 t10 v20"},
                        {"sortKey=loss&limit=2&offset=1", "t10 t30"},
                        {"filter=FILTER_OPTION_VALIDATION", "v20"},
                        {"filter=FILTER_OPTION_CHECKPOINT", ""},
                        {"filter=ALL", "400"},
                        {"group=training", "t10 t20 t30"},
                        {"metricType=METRIC_TYPE_VALIDATION", "v20"},
                        {"metricType=METRIC_TYPE_TRAINING", "t10 t20 t30"},
                        {"metricType=LOSS", "400"},
                        {"removeDeletedCheckpoints=true", "t10 t20 v20 t30"},
                        {"orderBy=DOWN", "400"}})
    EXPECT_EQ(kinds(query), expected) << query;
  EXPECT_EQ(shown("/api/v1/experiments?showTrialData=true", "experiments", "name"), "tested") << id;
}

TEST_F(ParametersTest, BatchMetricsOfWorkloadsAreShownOnDemand) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  const json::object metrics{
      {"trialId", task.trial_id.value()},
      {"stepsCompleted", 2},
      {"metrics",
       {{"avgMetrics", {{"loss", 0.5}}}, {"batchMetrics", json::array{{{"loss", 0.25}}, {{"loss", 0.75}}}}}}};
  const auto path = fmt::format("/api/v1/trials/{}", task.trial_id);
  ASSERT_EQ(call(task.token, "POST", path + "/metrics", {{"group", "training"}, {"metrics", metrics}}).status,
            200);
  for (const auto& [query, count] :
       {std::pair{"", 0U}, {"?includeBatchMetrics=false", 0U}, {"?includeBatchMetrics=true", 2U}}) {
    const auto listed = call(user_, "GET", path + "/workloads" + query).body.at("workloads").at(0);
    EXPECT_EQ(listed.at("training").at("metrics").at("batchMetrics").as_array().size(), count) << query;
  }
}

TEST_F(ParametersTest, TheLogOfATaskIsThatOfTheWantedAllocations) {
  submit();
  const auto first = sync("a", 1).desired.at(0);
  const auto log = [&](const api::DesiredAllocation& task, const char* text) {
    const json::object line{{"taskId", task.task_id}, {"log", text}};
    const auto answer = call(task.token, "POST", "/api/v1/task/logs", {{"logs", json::array{line}}});
    EXPECT_EQ(answer.status, 200) << answer.text;
  };
  log(first, "of the first run");
  exit("a", 1, first.allocation_id, 1);
  const auto second = sync("a", 1).desired.at(0);
  ASSERT_EQ(second.task_id, first.task_id);
  log(second, "of the second run");
  const auto lines = [&](const std::string& query) {
    const auto text = call(user_, "GET", fmt::format("/api/v1/tasks/{}/logs?{}", first.task_id, query)).text;
    return std::pair(text.find("of the first run") != std::string::npos,
                     text.find("of the second run") != std::string::npos);
  };
  const auto one = "allocationIds=" + first.allocation_id, two = "allocationIds=" + second.allocation_id;
  EXPECT_EQ(lines(""), std::pair(true, true));
  EXPECT_EQ(lines(one), std::pair(true, false));
  EXPECT_EQ(lines(two), std::pair(false, true));
  EXPECT_EQ(lines(one + "&" + two), std::pair(true, true));
  EXPECT_EQ(lines("allocationIds=other"), std::pair(false, false));
}

}  // namespace
}  // namespace det::master
