// I-17: each event in the log names somebody who had the right to bring it about. The table of rights is
// written down here a second time, apart from the checks in the routes.

#include "det/cluster/events.h"
#include "det/master/ledger/ledger.h"
#include "det/master/testing.h"
#include "det/store/store.h"

namespace det::master {
namespace {

using cluster::Event;

template <class... T>
bool is_one_of(const Event& event) {
  return ((event.as<T>() != nullptr) || ...);
}

/// The allocation that reports with this event; empty: the event is no such report.
std::string reporter(const Event& event) {
  return std::visit(
      [](const auto& e) -> std::string {
        using T = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<T, cluster::CheckpointReported>)
          return e.record.allocation_id;
        else if constexpr (std::is_same_v<T, cluster::OperationCompleted> ||
                           std::is_same_v<T, cluster::TrialProgressed> ||
                           std::is_same_v<T, cluster::ValidationReported> ||
                           std::is_same_v<T, cluster::EarlyExitReported> ||
                           std::is_same_v<T, cluster::TaskReady> || std::is_same_v<T, cluster::TaskIdled> ||
                           std::is_same_v<T, cluster::PreemptionHeeded> ||
                           std::is_same_v<T, cluster::PreemptionAcknowledged>)
          return e.allocation_id;
        else
          return "";
      },
      event.any());
}

/// Whether it is said of a trial: users who may change the experiment may say it, too.
bool of_trial(const Event& event) {
  return is_one_of<cluster::CheckpointReported, cluster::OperationCompleted, cluster::TrialProgressed,
                   cluster::ValidationReported, cluster::EarlyExitReported, cluster::PreemptionAcknowledged>(
      event);
}

/// The agent that says so; empty: the event is not said by agents.
std::string sayer(const Event& event) {
  return std::visit(
      [](const auto& e) -> std::string {
        using T = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<T, cluster::AgentJoined> ||
                      std::is_same_v<T, cluster::AllocationStarted> ||
                      std::is_same_v<T, cluster::RankFailed> ||
                      std::is_same_v<T, cluster::LogPolicyMatched> ||
                      std::is_same_v<T, cluster::AllocationExited>)
          return e.agent;
        else
          return "";
      },
      event.any());
}

bool had_the_right(const std::string& by, const Event& event, const cluster::Cluster& before) {
  const bool by_user = by == "user 1" || by == "user 2";
  if (const auto id = reporter(event); !id.empty())
    return before.allocation(id) != nullptr && (by == "allocation " + id || (by_user && of_trial(event)) ||
                                                (by == "master" && is_one_of<cluster::TaskIdled>(event)));
  if (const auto agent = sayer(event); !agent.empty()) return by == "agent " + agent;
  if (is_one_of<cluster::MasterStarted, cluster::AgentLost, cluster::PreemptionExpired,
                cluster::CheckpointsCollected>(event))
    return by == "master";
  if (const auto* submitted = event.as<cluster::ExperimentSubmitted>())
    return by == fmt::format("user {}", submitted->record.owner);
  if (const auto* submitted = event.as<cluster::TaskSubmitted>())
    return by == fmt::format("user {}", submitted->record.owner);
  if (const auto* killed = event.as<cluster::TaskKilled>())
    return by_user || (by == "master" && killed->reason.starts_with("idle for more than"));
  if (const auto* tracked = event.as<cluster::ExperimentTracked>())
    return by == fmt::format("user {}", tracked->record.owner);
  if (is_one_of<cluster::AgentSet>(event)) return by == "user 1";  // the administrator
  if (is_one_of<cluster::ExperimentCommanded, cluster::ExperimentPatched, cluster::ExperimentExtended,
                cluster::ExperimentContinued, cluster::SearchContinued, cluster::JobMoved,
                cluster::SearchAnswered, cluster::TrialTracked, cluster::TrialKilled,
                cluster::TaskPrioritySet, cluster::TaskPaused, cluster::TaskUnpaused>(event))
    return by_user;
  return false;  // an event that this table does not know yet
}

class RightsTest : public testing::MasterTest {
 protected:
  std::size_t events() {
    stop();
    auto store = *store::open_sqlite({.path = directory_ / "determined.db", .on_stall = {}});
    cluster::Cluster cluster;
    const auto all = store->events_after(0, 0);
    for (const auto& stored : all) {
      const auto known = remembered(stored.body);
      EXPECT_TRUE(known) << json::serialize(stored.body);
      if (!known) continue;
      EXPECT_TRUE(had_the_right(known->by, known->event, cluster)) << json::serialize(stored.body);
      cluster.handle(known->event, stored.time);
    }
    store.reset();
    start();
    return all.size();
  }
  std::string path(const char* form, std::int64_t id) { return fmt::format(fmt::runtime(form), id); }
};

TEST_F(RightsTest, EveryEventIsBySomebodyWhoHadTheRight) {
  const auto id = submit();
  auto task = sync("a", 1).desired.at(0);
  report(task, "training", 10, 0.5);
  report(task, "validation", 10, 0.5);
  call(task.token, "POST", "/api/v1/checkpoints",
       json::object{{"uuid", "c1"}, {"metadata", {{"steps_completed", 10}}}});
  call(task.token, "POST", fmt::format("/api/v1/trials/{}/runner/metadata", task.trial_id),
       json::object{{"state", "training"}});
  call(user_, "PATCH", path("/api/v1/experiments/{}", id), json::object{{"name", "other"}});
  call(user_, "PUT", path("/api/v1/experiments/{}/labels/x", id));
  call(admin_, "POST", "/api/v1/agents/a/disable", json::object{{"drain", true}});
  call(admin_, "POST", "/api/v1/agents/a/enable", json::object{});
  call(user_, "POST", path("/api/v1/experiments/{}/pause", id));
  call(task.token, "POST", fmt::format("/api/v1/allocations/{}/signals/ack_preemption", task.allocation_id));
  exit("a", 1, task.allocation_id, 0);
  call(user_, "POST", path("/api/v1/experiments/{}/activate", id));
  task = sync("a", 1).desired.at(0);
  call(task.token, "POST", fmt::format("/api/v1/trials/{}/searcher/completed_operation", task.trial_id),
       json::object{{"op", {{"validateAfter", {{"length", "1000"}}}}}, {"searcherMetric", 0.5}});
  exit("a", 1, task.allocation_id, 0);
  const auto second = submit();
  task = sync("a", 1).desired.at(0);
  exit("a", 1, task.allocation_id, 1);
  task = sync("a", 1).desired.at(0);
  call(user_, "POST", fmt::format("/api/v1/trials/{}/kill", task.trial_id));
  call(user_, "POST", path("/api/v1/experiments/{}/kill", second));
  const auto notebook = call(admin_, "POST", "/api/v1/notebooks", json::object{{"config", json::object{}}});
  const std::string name(notebook.body.at("notebook").at("id").get_string());
  for (const auto& wanted : sync("a", 1).desired)
    if (wanted.task_id == name) {
      call(wanted.token, "POST", fmt::format("/api/v1/tasks/{}/ready", name), json::object{{"port", 1}});
      call(wanted.token, "POST", fmt::format("/api/v1/tasks/{}/idle", name), json::object{{"idle", true}});
    }
  call(user_, "POST", fmt::format("/api/v1/notebooks/{}/kill", name));
  const auto generic =
      call(user_, "POST", "/api/v1/generic-tasks", {{"config", "{entrypoint: x, resources: {slots: 0}}"}});
  const auto paused = fmt::format("/api/v1/tasks/{}/", generic.body.at("taskId").get_string().c_str());
  for (const auto& wanted : sync("a", 1).desired)
    if (paused.find(wanted.task_id) != std::string::npos)
      call(wanted.token, "GET",
           fmt::format("/api/v1/allocations/{}/signals/preemption", wanted.allocation_id));
  for (const auto* verb : {"pause", "unpause", "kill"}) call(user_, "POST", paused + verb, json::object{});
  call(admin_, "POST", fmt::format("/api/v1/notebooks/{}/set_priority", name), json::object{{"priority", 7}});
  call(admin_, "POST", fmt::format("/api/v1/notebooks/{}/kill", name));
  EXPECT_GT(events(), 20u) << "too little happened for this to mean something";
}

TEST_F(RightsTest, WhoHasNoRightIsRefusedAndTheLogIsAsItWas) {
  const auto id = submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto second = submit();
  auto dead = task;
  exit("a", 1, task.allocation_id, 1);
  const auto live = sync("a", 1).desired.at(0);
  const auto before = events();
  std::size_t starts = 1;  // of the master that `events` started again

  struct Call {
    std::string method, path;
    json::value body;
  };
  const auto trial = live.trial_id.value();
  const std::vector<Call> of_users = {
      {"POST", "/api/v1/experiments", {{"config", "name: x"}}},
      {"POST", "/api/v1/experiments/continue", {{"id", id}}},
      {"PATCH", path("/api/v1/experiments/{}", id), {{"name", "stolen"}}},
      {"PATCH", path("/api/v1/experiments/{}", id), {{"resources", {{"maxSlots", 1}}}}},
      {"PUT", path("/api/v1/experiments/{}/labels/x", id), nullptr},
      {"DELETE", path("/api/v1/experiments/{}/labels/x", id), nullptr},
      {"DELETE", path("/api/v1/experiments/{}", id), nullptr},
      {"DELETE", path("/api/v1/experiments/{}/tensorboard-files", id), nullptr},
      {"POST", path("/api/v1/experiments/{}/pause", id), nullptr},
      {"POST", path("/api/v1/experiments/{}/activate", id), nullptr},
      {"POST", path("/api/v1/experiments/{}/cancel", id), nullptr},
      {"POST", path("/api/v1/experiments/{}/kill", second), nullptr},
      {"POST", path("/api/v1/experiments/{}/archive", id), nullptr},
      {"POST", path("/api/v1/trials/{}/kill", trial), nullptr},
      {"DELETE", "/api/v1/checkpoints", {{"checkpointUuids", {"c1"}}}},
      {"POST", "/api/v1/agents/a/disable", json::object{}},
      {"POST", "/api/v1/agents/a/slots/0/disable", json::object{}}};
  for (const auto& token : {live.token, dead.token, agent_token(), std::string(), std::string("nonsense")})
    for (const auto& [method, path, body] : of_users) {
      if (token == live.token && method + path == "DELETE/api/v1/checkpoints") continue;  // a script may, too
      const auto status = call(token, method, path, body).status;
      EXPECT_TRUE(status == 401 || status == 403 || status == 410) << method << " " << path << ": " << status;
    }
  for (const auto* path : {"/api/v1/agents/a/disable", "/api/v1/agents/a/slots/0/disable"})
    EXPECT_EQ(call(user_, "POST", path, json::object{}).status, 403) << path;

  const json::object op{{"op", {{"validateAfter", {{"length", "1000"}}}}}, {"searcherMetric", 0.5}};
  const json::object metrics{
      {"group", "training"},
      {"metrics", {{"stepsCompleted", 5}, {"metrics", {{"avgMetrics", {{"loss", 1}}}}}}}};
  const std::vector<Call> of_tasks = {
      {"POST", path("/api/v1/trials/{}/metrics", trial), metrics},
      {"POST", path("/api/v1/trials/{}/searcher/completed_operation", trial), op},
      {"POST", path("/api/v1/trials/{}/early_exit", trial), {{"reason", "EXITED_REASON_INVALID_HP"}}},
      {"POST", path("/api/v1/trials/{}/runner/metadata", trial), {{"state", "x"}}},
      {"POST", path("/api/v1/trials/{}/progress", trial), {{"progress", 0.5}}},
      {"POST", path("/api/v1/trials/{}/environment", trial), {{"environment", json::object{}}}},
      {"POST", "/api/v1/checkpoints", {{"uuid", "c2"}}}};
  const auto preempted = fmt::format("/api/v1/allocations/{}/signals/ack_preemption", live.allocation_id);
  for (const auto& token : {dead.token, agent_token(), std::string()}) {
    const auto status = call(token, "POST", preempted, json::object{}).status;
    EXPECT_TRUE(status == 401 || status == 403 || status == 410) << preempted << ": " << status;
  }
  for (const auto& token : {dead.token, agent_token(), std::string()})
    for (const auto& [method, path, body] : of_tasks) {
      const auto status = call(token, method, path, body).status;
      EXPECT_TRUE(status == 401 || status == 403 || status == 410) << method << " " << path << ": " << status;
    }
  for (const auto& token : {live.token, user_, admin_, std::string()})
    for (const auto* path : {"/api/v1/agents/b/sync", "/api/v1/agents/a/logs"}) {
      const auto status = call(token, "POST", path, json::object{}).status;
      EXPECT_TRUE(status == 401 || status == 403) << path << ": " << status;
    }
  EXPECT_EQ(events(), before + starts);
}

TEST_F(RightsTest, ATaskActsAsItsOwnerAndNeverLongerOrHigherThanItself) {
  const auto own = submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto token = task.environment.at("DET_USER_TOKEN");
  EXPECT_EQ(call(token, "GET", "/api/v1/me").body.at("user").at("username"), "determined");
  EXPECT_EQ(call(token, "PUT", path("/api/v1/experiments/{}/labels/x", own)).status, 200);
  EXPECT_EQ(call(token, "PATCH", "/api/v1/users/2", json::object{{"password", "mine"}}).status, 403);
  EXPECT_EQ(call(token, "POST", "/api/v1/tokens", json::object{{"lifespan", "48h"}}).status, 403);
  EXPECT_EQ(call(token, "POST", "/api/v1/users", json::object{{"user", {{"username", "x"}}}}).status, 403);
  EXPECT_EQ(call(token + "0", "GET", "/api/v1/me").status, 401);
  EXPECT_EQ(call("det_owner_" + task.token.substr(9), "GET", "/api/v1/me").status, 401);
  EXPECT_EQ(call("det_task_" + token.substr(10), "GET", "/api/v1/me").status, 401);
  call(token, "POST", "/api/v1/auth/logout");
  EXPECT_EQ(call(token, "GET", "/api/v1/me").status, 200) << "it ends with the task, not before";
  exit("a", 1, task.allocation_id, 0);
  EXPECT_EQ(call(token, "GET", "/api/v1/me").status, 410);

  const auto command = call(admin_, "POST", "/api/v1/commands",
                            json::object{{"config", {{"entrypoint", {"x"}}, {"resources", {{"slots", 0}}}}}});
  ASSERT_EQ(command.status, 200) << command.text;
  const std::string id(command.body.at("command").at("id").get_string());
  for (const auto& wanted : sync("a", 1).desired)
    if (wanted.task_id == id) {
      const auto highest = wanted.environment.at("DET_USER_TOKEN");
      EXPECT_EQ(call(highest, "GET", "/api/v1/me").body.at("user").at("username"), "admin");
      EXPECT_EQ(call(highest, "POST", "/api/v1/agents/a/disable", json::object{}).status, 403);
    }
}

TEST_F(RightsTest, EveryRouteOfTheApiButTheOpenOnesWantsToKnowWho) {
  const auto document = master_->openapi();
  for (const auto& [path, operations] : document.at("paths").get_object())
    for (const auto& [verb, operation] : operations.get_object()) {
      const bool open = operation.get_object().contains("security");
      std::string method(verb), place(path);
      std::ranges::transform(method, method.begin(),
                             [](char c) { return static_cast<char>(std::toupper(c)); });
      for (std::size_t at = 0; (at = place.find('{')) != std::string::npos;)
        place.replace(at, place.find('}') - at + 1, "1");
      if (open) continue;
      EXPECT_EQ(call("", method, place).status, 401) << method << " " << place;
    }
}

}  // namespace
}  // namespace det::master
