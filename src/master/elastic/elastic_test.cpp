// A master with a pool of local processes: the pilots are scripts of the shell that do what pilots do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class ElasticPool : public testing::MasterTest {
 protected:
  ElasticPool() {
    stop();
    const auto program = directory_ / "pilot.sh";
    std::ofstream(program) << "#!/bin/sh\necho \"$DET_PILOT_TOKEN\" > '" << (directory_ / "token").string()
                           << "'\nexec sleep 600\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ProviderSettings settings;
    settings.program = program.string();
    settings.limits = {.max_nodes = 2, .slots_per_node = 2, .idle_timeout = 1};
    settings.work_dir = directory_.string();
    providers_["default"] = settings;
    pools_.pools = {
        {.name = "default", .idle_seconds = 0, .elastic = settings.limits, .provider = describe(settings)}};
    start();
  }
  ~ElasticPool() override {
    for (const auto& a : allotments())
      if (const auto pid = std::atoi(text(a, "engineId").c_str()); pid > 1) ::kill(-pid, SIGKILL);
  }
  json::array allotments() {
    return call(user_, "GET", "/api/v1/allotments").body.at("allotments").get_array();
  }
  static std::string text(const json::value& object, const char* name) {
    return std::string(object.at(name).get_string());
  }
  /// The token that the first pilot was started with.
  std::string pilot_token() {
    std::string token;
    EXPECT_TRUE(comes_true([&] { return bool(std::ifstream(directory_ / "token") >> token); }));
    return token;
  }
  testing::Answer claim(const std::string& token, int node, const std::string& secret) {
    return call(token, "POST", "/api/v1/allotments/1/claim",
                json::object{{"node", node}, {"secret", secret}, {"hostname", "box"}});
  }
  testing::Answer sync_as(const std::string& token, const std::string& agent,
                          const std::string& pool = "default") {
    api::SyncRequest request{.session = agent, .sequence = ++sequence_, .version = "1", .hostname = "box"};
    request.resource_pool = pool;
    request.slots = {{.id = 0}, {.id = 1}};
    return call(token, "POST", fmt::format("/api/v1/agents/{}/sync", agent), http::to_wire(request));
  }
  const std::string secret_ = "0123456789abcdef";
};

TEST_F(ElasticPool, AsksForAMachineWhenATrialWaitsAndPlacesItThere) {
  EXPECT_TRUE(allotments().empty());
  const auto id = submit();
  const auto token = pilot_token();
  ASSERT_TRUE(comes_true([&] { return text(allotments().at(0), "state") == "RUNNING"; }));
  EXPECT_THAT(text(experiment(id), "waitingReason"),
              HasSubstr("waits for 1 node of local processes (process "));
  const auto claimed = claim(token, 0, secret_);
  ASSERT_EQ(claimed.status, 200) << claimed.text;
  EXPECT_EQ(text(claimed.body, "agentId"), "default-1-0");
  const auto joined = sync_as(text(claimed.body, "token"), "default-1-0", "another");
  ASSERT_EQ(joined.status, 200) << joined.text;
  EXPECT_EQ(joined.body.at("desired").get_array().size(), 1u);
  EXPECT_EQ(call(user_, "GET", "/api/v1/agents/default-1-0").body.at("agent").at("resourcePools").at(0),
            "default");
}

TEST_F(ElasticPool, TheTokenOfAPilotIsGoodForOneNodeAndItsOwnAgent) {
  submit();
  const auto token = pilot_token();
  EXPECT_EQ(claim("det_pilot_1.00", 0, secret_).status, 401);
  EXPECT_EQ(claim(user_, 0, secret_).status, 403);
  EXPECT_EQ(claim(agent_token(), 0, secret_).status, 403);
  EXPECT_EQ(claim(token, 1, secret_).status, 400) << "it has one node";
  EXPECT_EQ(claim(token, 0, "short").status, 400);
  const auto claimed = claim(token, 0, secret_);
  ASSERT_EQ(claimed.status, 200) << claimed.text;
  EXPECT_EQ(claim(token, 0, secret_).body, claimed.body) << "its answer may have been lost";
  EXPECT_EQ(claim(token, 0, "a thief's own secret").status, 403);

  const auto agent = text(claimed.body, "token");
  EXPECT_EQ(sync_as(agent, "another").status, 403);
  EXPECT_EQ(sync_as(token, "default-1-0").status, 403) << "the token of the allotment is no agent's";
  for (const auto* path : {"/api/v1/me", "/api/v1/experiments", "/api/v1/users"})
    EXPECT_EQ(call(agent, "GET", path).status, 403) << path;
  EXPECT_EQ(call(agent, "GET", "/api/v1/agents/default-1-0/model_definitions/abc").status, 403);
  const json::object lines{{"allocationId", "1.x.1"}, {"entries", json::array()}};
  EXPECT_EQ(call(agent, "POST", "/api/v1/agents/default-1-0/logs", lines).status, 403);
}

TEST_F(ElasticPool, GivesTheMachineBackWhenItsTrialIsKilled) {
  const auto id = submit();
  const auto claimed = claim(pilot_token(), 0, secret_);
  const auto agent = text(claimed.body, "token");
  const auto wanted = sync_as(agent, "default-1-0").body.at("desired").at(0);
  ASSERT_TRUE(comes_true([&] { return !text(allotments().at(0), "engineId").empty(); }));
  const auto pid = std::atoi(text(allotments().at(0), "engineId").c_str());
  ASSERT_GT(pid, 1);
  call(user_, "POST", fmt::format("/api/v1/experiments/{}/kill", id));
  api::SyncRequest request{
      .session = "default-1-0", .sequence = ++sequence_, .version = "1", .hostname = "box"};
  request.slots = {{.id = 0}, {.id = 1}};
  request.allocations = {{.allocation_id = text(wanted, "allocationId"),
                          .state = api::AllocationState::exited,
                          .exits = {{.rank = 0, .code = 137}}}};
  EXPECT_EQ(call(agent, "POST", "/api/v1/agents/default-1-0/sync", http::to_wire(request)).status, 200);
  const auto gone = [&] { return ::kill(-pid, 0) != 0; };
  EXPECT_TRUE(comes_true(gone) || comes_true(gone)) << "the process was not ended";
  EXPECT_TRUE(comes_true([&] { return allotments().empty(); }) ||
              comes_true([&] { return allotments().empty(); }));
  EXPECT_EQ(sync_as(agent, "default-1-0").status, 401);
}

TEST_F(ElasticPool, AMasterThatStartsAgainFindsWhatItSubmitted) {
  submit();
  pilot_token();
  ASSERT_TRUE(comes_true([&] { return text(allotments().at(0), "state") == "RUNNING"; }));
  const auto before = allotments();
  restart();
  EXPECT_TRUE(comes_true([&] { return allotments() == before; }));
}

}  // namespace
}  // namespace det::master
