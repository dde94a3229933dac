// What administrators decide about the configurations of others, over HTTP.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ConfigPolicies : public testing::MasterTest {
 protected:
  ConfigPolicies() {
    const auto made = call(admin_, "POST", "/api/v1/workspaces", {{"name", "vision"}});
    workspace_ = *json::to_int64(made.body.at("workspace").at("id"));
    call(admin_, "POST", fmt::format("/api/v1/workspaces/{}/projects", workspace_), {{"name", "faces"}});
  }
  static std::string of_cluster(const char* type = "EXPERIMENT") {
    return fmt::format("/api/v1/config-policies/global/{}", type);
  }
  std::string of_vision(const char* type = "EXPERIMENT") const {
    return fmt::format("/api/v1/config-policies/workspaces/{}/{}", workspace_, type);
  }
  void set(const std::string& path, const std::string& yaml) {
    const auto done = call(admin_, "PUT", path, {{"configPolicies", yaml}});
    EXPECT_EQ(done.status, 200) << done.text;
  }
  testing::Answer try_submit(const std::string& more) {
    const std::string config =
        "name: tested\nentrypoint: model:Trial\nhyperparameters: {global_batch_size: 8}\n"
        "searcher: {name: single, metric: loss, max_length: {batches: 1000}}\n";
    return call(user_, "POST", "/api/v1/experiments", json::object{{"config", config + more}});
  }
  static json::value resources(const testing::Answer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.text;
    return answer.status == 200 ? answer.body.at("config").at("resources") : json::object{};
  }
  testing::Answer patch(std::int64_t id, json::object resources) {
    return call(user_, "PATCH", fmt::format("/api/v1/experiments/{}", id),
                {{"resources", std::move(resources)}});
  }
  const std::string in_vision_ = "workspace: vision\nproject: faces\n";
  std::int64_t workspace_ = 0;
};

TEST_F(ConfigPolicies, AreReadAsTheyWereWrittenAlsoByTheNextMaster) {
  const std::string yaml = "# why\nconstraints: {priority_limit: 30}\n";
  EXPECT_EQ(call(user_, "GET", of_cluster()).body.at("configPolicies"), json::object());
  set(of_cluster(), yaml);
  set(of_vision("NTSC"), "invariant_config: {debug: true}");
  restart();
  const auto read = call(user_, "GET", of_cluster());
  EXPECT_EQ(read.body.at("yaml"), json::value(yaml));
  EXPECT_EQ(*json::to_int64(read.body.at("configPolicies").at("constraints").at("priority_limit")), 30);
  EXPECT_EQ(call(user_, "GET", of_cluster("NTSC")).body.at("yaml"), "");
  EXPECT_EQ(call(admin_, "DELETE", of_vision("NTSC")).status, 200);
  EXPECT_THAT(call(admin_, "DELETE", of_vision("NTSC")).text,
              HasSubstr("policy for tasks of workspace 'vision' not found"));
  EXPECT_THAT(call(user_, "GET", of_cluster("TRIALS")).text, HasSubstr("workloadType is 'TRIALS'"));
  EXPECT_EQ(call(admin_, "GET", "/api/v1/config-policies/workspaces/99/NTSC").status, 404);
}

TEST_F(ConfigPolicies, AreChangedByAdministratorsAndOwnersOfTheWorkspace) {
  const json::object body{{"configPolicies", "constraints: {priority_limit: 30}"}};
  EXPECT_EQ(call(user_, "PUT", of_cluster(), body).status, 403);
  EXPECT_EQ(call(user_, "PUT", of_vision(), body).status, 403);
  EXPECT_EQ(call(user_, "DELETE", of_vision(), body).status, 403);
  const auto own =
      call(user_, "POST", "/api/v1/workspaces", {{"name", "mine"}}).body.at("workspace").at("id");
  const auto path = fmt::format("/api/v1/config-policies/workspaces/{}/EXPERIMENT", json::serialize(own));
  EXPECT_EQ(call(user_, "PUT", path, body).status, 200);
}

TEST_F(ConfigPolicies, ShowSecretsToThoseOnlyWhoMayChangeThem) {
  set(of_cluster(), "invariant_config: {checkpoint_storage: {type: s3, bucket: b, secret_key: hush}}");
  EXPECT_THAT(call(user_, "GET", of_cluster()).text, Not(HasSubstr("hush")));
  EXPECT_THAT(call(user_, "GET", of_cluster()).body.at("yaml").as_string().c_str(), HasSubstr("bucket: b"));
  EXPECT_THAT(call(admin_, "GET", of_cluster()).text, HasSubstr("hush"));
}

TEST_F(ConfigPolicies, SayEverythingThatIsWrongWithALine) {
  const auto wrong =
      call(admin_, "PUT", of_cluster(),
           {{"configPolicies", "constraints:\n  resources: {max_slots: -1}\n  priority: 3\n"}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(wrong.text, HasSubstr("(line 2)"));
  EXPECT_THAT(wrong.text, HasSubstr("(line 3)"));
}

TEST_F(ConfigPolicies, FixWhatExperimentsOfTheirWorkspaceSay) {
  set(of_vision(), "invariant_config: {resources: {weight: 3, priority: 60}, max_restarts: 0}");
  set(of_cluster(), "invariant_config: {resources: {priority: 70}}");
  const auto there = resources(try_submit(in_vision_ + "max_restarts: 9\nresources: {priority: 1}\n"));
  EXPECT_EQ(*json::to_int64(there.at("priority")), 70);
  EXPECT_EQ(*json::to_int64(there.at("weight")), 3);
  const auto elsewhere = resources(try_submit("resources: {weight: 2}\n"));
  EXPECT_EQ(*json::to_int64(elsewhere.at("priority")), 70);
  EXPECT_EQ(*json::to_int64(elsewhere.at("weight")), 2);
}

TEST_F(ConfigPolicies, LimitWhatIsSubmitted) {
  set(of_vision(), "constraints: {resources: {max_slots: 4}}");
  set(of_cluster(), "constraints: {priority_limit: 50}");
  EXPECT_THAT(try_submit(in_vision_ + "resources: {max_slots: 5, priority: 9}\n").text,
              ::testing::AllOf(
                  HasSubstr("resources.max_slots is 5; the policy of workspace 'vision' allows at most 4"),
                  HasSubstr("resources.priority is 9; the cluster's policy allows no number below 50")));
  const auto open = resources(try_submit(in_vision_));
  EXPECT_EQ(*json::to_int64(open.at("max_slots")), 4);
  EXPECT_EQ(*json::to_int64(open.at("priority")), 50);
  EXPECT_EQ(try_submit("resources: {max_slots: 5}\n").status, 200);
}

TEST_F(ConfigPolicies, LimitWhatBecomesOfASubmittedExperimentToo) {
  const auto id = submit(in_vision_);
  set(of_vision(), "{invariant_config: {resources: {weight: 2}}, constraints: {resources: {max_slots: 4}}}");
  set(of_cluster(), "constraints: {priority_limit: 30}");
  EXPECT_EQ(patch(id, {{"maxSlots", 3}, {"priority", 30}}).status, 200) << "what runs goes on";
  EXPECT_THAT(patch(id, {{"maxSlots", 5}}).text,
              HasSubstr("resources.max_slots is 5; the policy of workspace"));
  EXPECT_THAT(patch(id, {{"maxSlots", nullptr}}).text, HasSubstr("max_slots cannot be removed:"));
  EXPECT_THAT(patch(id, {{"weight", 7}}).text, HasSubstr("the policy of workspace 'vision' sets it to 2"));
  EXPECT_THAT(patch(id, {{"priority", 29}}).text,
              HasSubstr("the cluster's policy allows no number below 30"));
  const auto job = [&](json::object change) {
    change["jobId"] = std::to_string(id);
    return call(admin_, "POST", "/api/v1/job-queues", {{"updates", json::array{std::move(change)}}});
  };
  EXPECT_THAT(job({{"priority", 29}}).text, HasSubstr("allows no number below 30"));
  EXPECT_THAT(job({{"weight", 7}}).text, HasSubstr("sets it to 2"));
  EXPECT_EQ(job({{"priority", 31}}).status, 200);
  EXPECT_EQ(call(admin_, "DELETE", of_cluster()).status, 200);
  EXPECT_EQ(patch(id, {{"priority", 29}}).status, 200);
  set(of_cluster(), "invariant_config: {retention_policy: {log_retention_days: 30}}");
  const auto keep = [&](int days) {
    return call(user_, "PUT", fmt::format("/api/v1/experiments/{}/retain_logs", id), {{"numDays", days}});
  };
  EXPECT_THAT(keep(7).text,
              HasSubstr("log_retention_days cannot become 7: the cluster's policy sets it to 30"));
  EXPECT_EQ(keep(30).status, 200);
}

TEST_F(ConfigPolicies, AreForTasksApart) {
  set(of_cluster(), "constraints: {priority_limit: 90, resources: {max_slots: 0}}");
  set(of_cluster("NTSC"), "{invariant_config: {idle_timeout: 1h}, constraints: {priority_limit: 30}}");
  const auto launch = [&](json::object config) {
    config["entrypoint"] = "true";
    return call(user_, "POST", "/api/v1/commands", {{"config", std::move(config)}});
  };
  EXPECT_THAT(launch({{"resources", {{"priority", 9}}}}).text,
              HasSubstr("resources.priority is 9; the cluster's policy allows no number below 30"));
  const auto made = launch({{"idle_timeout", "5m"}});
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(made.body.at("config").at("idle_timeout"), "1h");
  const auto id = std::string(made.body.at("command").at("id").as_string());
  const auto set_priority = [&](int priority) {
    return call(user_, "POST", fmt::format("/api/v1/commands/{}/set_priority", id), {{"priority", priority}});
  };
  EXPECT_THAT(set_priority(29).text, HasSubstr("allows no number below 30"));
  EXPECT_EQ(set_priority(30).status, 200);
}

TEST_F(ConfigPolicies, GoWithTheirWorkspace) {
  const auto made = call(admin_, "POST", "/api/v1/workspaces", {{"name", "short"}}).body.at("workspace");
  const auto path = fmt::format("/api/v1/config-policies/workspaces/{}/NTSC", json::serialize(made.at("id")));
  set(path, "invariant_config: {debug: true}");
  const auto workspace = fmt::format("/api/v1/workspaces/{}", json::serialize(made.at("id")));
  EXPECT_EQ(call(admin_, "DELETE", workspace).status, 200);
  EXPECT_EQ(call(admin_, "GET", path).status, 404);
}

}  // namespace
}  // namespace det::master
