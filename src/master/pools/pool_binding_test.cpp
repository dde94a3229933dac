// Which workspaces alone can use a resource pool, over HTTP.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class PoolBindingTest : public testing::MasterTest {
 protected:
  PoolBindingTest() {
    join("gpu-machine", "gpu");
    join("machine", "default");
    vision_ = make_workspace("vision");
    speech_ = make_workspace("speech");
  }
  void join(const std::string& agent, const std::string& pool) {
    api::SyncRequest request{.session = "session", .sequence = 1, .version = "1", .hostname = agent};
    request.resource_pool = pool;
    request.slots.push_back({.id = 0});
    const auto answer =
        call(agent_token(), "POST", fmt::format("/api/v1/agents/{}/sync", agent), http::to_wire(request));
    EXPECT_EQ(answer.status, 200) << answer.text;
  }
  std::int64_t make_workspace(const std::string& name) {
    const auto made = call(user_, "POST", "/api/v1/workspaces", {{"name", name}});
    const auto id = *json::to_int64(made.body.at("workspace").at("id"));
    call(user_, "POST", fmt::format("/api/v1/workspaces/{}/projects", id), {{"name", "project"}});
    return id;
  }
  testing::Answer bind(const char* method, std::vector<std::string> workspaces) {
    return call(admin_, method, kBindings,
                {{"workspaceNames", json::array(workspaces.begin(), workspaces.end())}});
  }
  std::string bound() { return json::serialize(call(user_, "GET", kBindings).body.at("workspaceIds")); }
  testing::Answer try_submit(const std::string& workspace, const std::string& more = "") {
    return call(user_, "POST", "/api/v1/experiments",
                {{"config",
                  "name: tested\nentrypoint: model:Trial\nhyperparameters: {global_batch_size: 8}\n"
                  "searcher: {name: single, metric: loss, max_length: {batches: 1000}}\n"
                  "resources: {slots_per_trial: 1" +
                      more + "}\nworkspace: " + workspace + "\nproject: project\n"}});
  }
  static constexpr const char* kBindings = "/api/v1/resource-pools/gpu/workspace-bindings";
  std::int64_t vision_ = 0, speech_ = 0;
};

TEST_F(PoolBindingTest, AreAddedReplacedAndRemovedAndOutliveTheMaster) {
  EXPECT_EQ(bound(), "[]");
  EXPECT_EQ(bind("POST", {"vision"}).status, 200);
  EXPECT_EQ(bind("POST", {"speech"}).status, 200);
  restart();
  EXPECT_EQ(bound(), fmt::format("[{},{}]", vision_, speech_));
  EXPECT_EQ(bind("DELETE", {"vision"}).status, 200);
  EXPECT_EQ(bound(), fmt::format("[{}]", speech_));
  EXPECT_EQ(bind("PUT", {"vision"}).status, 200);
  EXPECT_EQ(bound(), fmt::format("[{}]", vision_));
  EXPECT_EQ(bind("PUT", {}).status, 200);
  EXPECT_EQ(bound(), "[]");
}

TEST_F(PoolBindingTest, KeepOthersOutOfThePoolAtSubmission) {
  bind("POST", {"vision"});
  EXPECT_EQ(try_submit("vision", ", resource_pool: gpu").status, 200);
  const auto refused = try_submit("speech", ", resource_pool: gpu");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(
      refused.text,
      HasSubstr("resource pool 'gpu' is bound to other workspaces; workspace 'speech' can use 'default'"));
  EXPECT_EQ(try_submit("speech").status, 200) << "the default pool is for all";
  const auto command =
      call(user_, "POST", "/api/v1/commands",
           {{"config", {{"entrypoint", json::array{"true"}}, {"resources", {{"resource_pool", "gpu"}}}}}});
  EXPECT_THAT(command.text, HasSubstr("workspace 'Uncategorized' can use 'default'"));
}

TEST_F(PoolBindingTest, KeepOthersFromMovingTheirJobsThere) {
  const auto submitted = try_submit("speech").body.at("experiment").at("id");
  bind("POST", {"vision"});
  const auto id = json::serialize(submitted);
  const json::object there{{"jobId", id}, {"resourcePool", "gpu"}};
  EXPECT_THAT(call(user_, "POST", "/api/v1/job-queues", {{"updates", json::array{there}}}).text,
              HasSubstr("bound to other workspaces"));
  EXPECT_THAT(
      call(user_, "PATCH", "/api/v1/experiments/" + id, {{"resources", {{"resourcePool", "gpu"}}}}).text,
      HasSubstr("bound to other workspaces"));
}

TEST_F(PoolBindingTest, AreSeenInTheListOfPoolsOfAWorkspace) {
  bind("POST", {"vision"});
  const auto pools = [&](std::int64_t workspace) {
    const auto path = fmt::format("/api/v1/workspaces/{}/available-resource-pools", workspace);
    return json::serialize(call(user_, "GET", path).body.at("resourcePools"));
  };
  EXPECT_EQ(pools(vision_), R"(["default","gpu"])");
  EXPECT_EQ(pools(speech_), R"(["default"])");
}

TEST_F(PoolBindingTest, TheUsualPoolOfAWorkspaceIsOneThatItMayUseAndItsExperimentsRunThere) {
  bind("POST", {"vision"});
  const auto set = [&](std::int64_t workspace) {
    return call(user_, "PATCH", fmt::format("/api/v1/workspaces/{}", workspace),
                {{"defaultComputePool", "gpu"}});
  };
  EXPECT_THAT(set(speech_).text, HasSubstr("bound to other workspaces"));
  EXPECT_EQ(set(vision_).status, 200);
  EXPECT_EQ(try_submit("vision").body.at("experiment").at("resourcePool"), "gpu");
  EXPECT_EQ(try_submit("speech").body.at("experiment").at("resourcePool"), "default");
  EXPECT_THAT(
      call(user_, "POST", "/api/v1/workspaces", {{"name", "new"}, {"defaultComputePool", "gpu"}}).text,
      HasSubstr("a new workspace can use 'default'"));
}

TEST_F(PoolBindingTest, RefuseWhatMakesNoSense) {
  EXPECT_EQ(call(user_, "POST", kBindings, {{"workspaceNames", json::array{"vision"}}}).status, 403);
  EXPECT_THAT(bind("POST", {"nowhere"}).text, HasSubstr("workspace 'nowhere' not found"));
  EXPECT_THAT(bind("POST", {}).text, HasSubstr("the request names no workspace"));
  EXPECT_THAT(bind("DELETE", {"vision"}).text, HasSubstr("is not bound to workspace 'vision'"));
  EXPECT_THAT(call(admin_, "POST", "/api/v1/resource-pools/default/workspace-bindings",
                   {{"workspaceIds", json::array{vision_}}})
                  .text,
              HasSubstr("is a default pool"));
  EXPECT_EQ(call(admin_, "GET", "/api/v1/resource-pools/none/workspace-bindings").status, 404);
}

TEST_F(PoolBindingTest, AWorkspaceThatAloneHasAPoolIsNotDeletedUntilThePoolIsAnothers) {
  const auto empty = *json::to_int64(
      call(user_, "POST", "/api/v1/workspaces", {{"name", "empty"}}).body.at("workspace").at("id"));
  bind("POST", {"empty"});
  const auto path = fmt::format("/api/v1/workspaces/{}", empty);
  EXPECT_THAT(call(admin_, "DELETE", path).text, HasSubstr("bound only to workspace 'empty'"));
  bind("POST", {"vision"});
  EXPECT_EQ(call(admin_, "DELETE", path).status, 200);
  EXPECT_EQ(bound(), fmt::format("[{}]", vision_));
}

}  // namespace
}  // namespace det::master
