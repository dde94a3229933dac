// Every call of the API, as nobody, as each role and as an agent: what is answered is written down in
// access_matrix.golden.txt, where a person can read and judge it. A call that is new fails here until it is
// declared in access_rules.cpp and its row has been looked at:
//
//   DET_WRITE_GOLDEN=1 build/release/det_master_test --gtest_filter='AccessMatrix.*'

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "det/access/role.h"
#include "det/master/rights/access_rules.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

/// One of each thing that calls name, in a workspace of its own.
struct Things {
  std::int64_t workspace = 0, project = 0, experiment = 0, trial = 0, webhook = 0;
  std::string task, trial_task, checkpoint, key, template_name;
};

class AccessMatrix : public testing::MasterTest {
 protected:
  void assign(const std::string& username, std::string_view role, std::int64_t workspace = 0) {
    const auto found = call(admin_, "GET", fmt::format("/api/v1/users/{}/by-username", username));
    json::object to{{"role", {{"roleId", access::find_role(role)->id.value()}}}};
    if (workspace != 0) to["scopeWorkspaceId"] = workspace;
    json::array assignments;
    assignments.push_back(json::object{{"userId", found.body.at("user").at("id")}, {"roleAssignment", to}});
    const auto done = call(admin_, "POST", "/api/v1/roles/add-assignments",
                           json::object{{"userRoleAssignments", assignments}});
    ASSERT_EQ(done.status, 200) << done.text;
  }

  /// In the next start roles are enforced.
  void enforce() {
    authz_ = access::Mode::Rbac;
    restart();
  }

  Things make_things() {
    Things t;
    t.workspace = id_of(call(admin_, "POST", "/api/v1/workspaces", {{"name", "vision"}}), "workspace");
    t.project = id_of(call(admin_, "POST", fmt::format("/api/v1/workspaces/{}/projects", t.workspace),
                           {{"name", "detectors"}, {"key", "DET"}}),
                      "project");
    t.key = "DET";
    t.experiment = submit("workspace: vision\nproject: detectors\n");
    const auto desired = sync("a", 1).desired.at(0);
    t.trial = desired.trial_id.value();
    t.trial_task = desired.task_id;
    t.checkpoint = "c1";
    const auto saved = call(desired.token, "POST", "/api/v1/checkpoints",
                            json::object{{"uuid", t.checkpoint}, {"metadata", {{"steps_completed", 10}}}});
    EXPECT_EQ(saved.status, 200) << saved.text;
    const auto task = call(user_, "POST", "/api/v1/commands",
                           {{"config", {{"entrypoint", {"true"}}}}, {"workspaceId", t.workspace}});
    EXPECT_EQ(task.status, 200) << task.text;
    t.task = std::string(task.body.at("command").at("id").get_string());
    call(admin_, "POST", "/api/v1/models", {{"name", "m"}});
    t.template_name = "small";
    put_template(t);
    json::array triggers;
    triggers.push_back(json::object{{"triggerType", "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE"},
                                    {"condition", {{"state", "COMPLETED"}}}});
    t.webhook = id_of(call(admin_, "POST", "/api/v1/webhooks",
                           {{"url", "https://example.com/hook"},
                            {"webhookType", "WEBHOOK_TYPE_DEFAULT"},
                            {"workspaceId", t.workspace},
                            {"triggers", std::move(triggers)}}),
                      "webhook");
    return t;
  }
  void put_template(const Things& t) {
    const auto made = call(admin_, "PUT", "/api/v1/templates/" + t.template_name,
                           {{"config", {{"max_restarts", 1}}}, {"workspaceId", t.workspace}});
    EXPECT_EQ(made.status, 200) << made.text;
  }
  static std::int64_t id_of(const testing::Answer& answer, const char* member) {
    EXPECT_EQ(answer.status, 200) << answer.text;
    return *json::to_int64(answer.body.at(member).at("id"));
  }

  /// The call on these things: its path, and a body that names them; it is wrong otherwise, so that it
  /// changes nothing where it is allowed.
  static std::string path_of(const Things& t, const std::string& operation) {
    auto path = operation.substr(operation.find(' ') + 1);
    const bool of_task = path.find("/tasks/") != std::string::npos;
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"{experimentId}", std::to_string(t.experiment)},
                                                          {"{trialId}", std::to_string(t.trial)},
                                                          {"{runId}", std::to_string(t.trial)},
                                                          {"{projectId}", std::to_string(t.project)},
                                                          {"{workspaceId}", std::to_string(t.workspace)},
                                                          {"{taskId}", of_task ? t.trial_task : t.task},
                                                          {"{allocationId}", t.trial_task + ".1"},
                                                          {"{uuid}", t.checkpoint},
                                                          {"{checkpointUuid}", t.checkpoint},
                                                          {"{jobId}", std::to_string(t.experiment)},
                                                          {"{key}", t.key},
                                                          {"{modelName}", "m"},
                                                          {"{templateName}", t.template_name},
                                                          {"{userId}", "1"},
                                                          {"{username}", "admin"}})
      path = replaced(path, name, value);
    if (path.find("/experiments/{id}") != std::string::npos)
      path = replaced(path, "{id}", std::to_string(t.experiment));
    if (path.find("/trials/{id}") != std::string::npos)
      path = replaced(path, "{id}", std::to_string(t.trial));
    if (path.find("/projects/{id}") != std::string::npos)
      path = replaced(path, "{id}", std::to_string(t.project));
    if (path.find("/workspaces/{id}") != std::string::npos)
      path = replaced(path, "{id}", std::to_string(t.workspace));
    if (path.find("/webhooks/{id}") != std::string::npos && !path.ends_with("/test"))
      path = replaced(path, "{id}", std::to_string(t.webhook));
    for (std::size_t at = 0; (at = path.find('{')) != std::string::npos;)
      path.replace(at, path.find('}') - at + 1, "x1");
    return path;
  }
  static json::object body_of(const Things& t) {
    json::array assignments;
    assignments.push_back(json::object{
        {"userId", 1}, {"roleAssignment", {{"role", {{"roleId", 4}}}, {"scopeWorkspaceId", t.workspace}}}});
    json::array updates;
    updates.push_back(json::object{{"jobId", std::to_string(t.experiment)}});
    return {{"id", t.experiment},
            {"experimentId", t.experiment},
            {"createTrialRequest", {{"experimentId", t.experiment}}},
            {"runId", t.trial},
            {"taskId", t.trial_task},
            {"logs", json::array{json::object{{"taskId", t.trial_task}, {"log", "x"}}}},
            {"trialSourceInfo", {{"trialId", t.trial}, {"checkpointUuid", "x"}}},
            {"checkpointUuid", t.checkpoint},
            {"checkpointUuids", json::array{t.checkpoint}},
            {"checkpoints", json::array{json::object{{"uuid", t.checkpoint}}}},
            {"destinationProjectId", t.project},
            {"destinationWorkspaceId", t.workspace},
            {"workspaceId", t.workspace},
            {"projectId", t.project},
            {"oldName", t.template_name},
            {"config", "no: configuration"},
            {"userRoleAssignments", std::move(assignments)},
            {"updates", std::move(updates)},
            {"roleIds", json::array{4}}};
  }
};

/// "-": refused for want of a right; "hidden": as if it did not exist; "401"; "yes": the handler went on,
/// whatever it found; "?": it would wait, or end a log-in, and was not asked.
std::string outcome(const testing::Answer& answer, const testing::Answer& as_administrator) {
  if (answer.status == 0) return "?";
  if (answer.status == 401) return "401";
  if (answer.status == 403) return "-";
  if (answer.status == 404 && answer.text != as_administrator.text) return "hidden";
  return "yes";
}

bool ends_things(const std::string& operation) {
  // Last: afterwards there is less to ask about.
  for (const auto* word : {"/kill", "/cancel", "DELETE ", "/logout", "/delete", "/move"})
    if (operation.find(word) != std::string::npos) return true;
  return false;
}

TEST_F(AccessMatrix, EveryCallAnswersEachRoleAsDeclared) {
  const std::vector<std::pair<std::string, std::string_view>> people = {{"without", ""},
                                                                        {"viewer", "Viewer"},
                                                                        {"restricted", "EditorRestricted"},
                                                                        {"editor", "Editor"},
                                                                        {"wsadmin", "WorkspaceAdmin"}};
  const auto things = make_things();
  std::map<std::string, std::string> tokens;
  for (const auto& [name, role] : people) {
    tokens[name] = make_user(name);
    if (!role.empty()) {
      assign(name, role, things.workspace);
      assign(name, role, 1);  // where models are
    }
  }
  enforce();
  std::string table = fmt::format("{:<86}", "call");
  for (const auto* name :
       {"nobody", "agent", "without", "viewer", "restricted", "editor", "wsadmin", "cluster"})
    table += fmt::format("{:<11}", name);
  while (table.ends_with(' ')) table.pop_back();
  table += "\n";
  const auto listed = master_->closed_operations();
  const std::set<std::string> operations(listed.begin(), listed.end());
  for (const bool last : {false, true})
    for (const auto& operation : operations) {
      if (ends_things(operation) != last) continue;
      EXPECT_NE(access_rule(operation), nullptr)
          << operation << " is not declared: say in access_rules.cpp what it needs";
      const auto method = operation.substr(0, operation.find(' '));
      const auto path = path_of(things, operation);
      const json::value body = method == "GET" ? json::value() : json::value(body_of(things));
      // Log-out would end the token; what a follower waits for would never come.
      const bool waits = path.ends_with("/follow") || path.find("/signals/") != std::string::npos ||
                         operation.ends_with("/searcher/operation") ||
                         path.find("rendezvous") != std::string::npos;
      const bool deletes_template = operation.starts_with("DELETE /api/v1/templates/");
      const auto of = [&](const std::string& token) {
        if (deletes_template) put_template(things);  // whoever was asked before may have deleted it
        return waits || path.ends_with("/logout") ? testing::Answer{} : call(token, method, path, body);
      };
      std::vector<testing::Answer> answers = {call("", method, path, body), of(agent_token())};
      for (const auto& [name, role] : people) answers.push_back(of(tokens.at(name)));
      answers.push_back(of(admin_));
      EXPECT_EQ(answers.front().status, 401) << operation;
      std::string row = fmt::format("{:<86}", operation);
      for (const auto& answer : answers) {
        EXPECT_NE(answer.status, 500) << operation << answer.text;
        row += fmt::format("{:<11}", outcome(answer, answers.back()));
      }
      while (row.ends_with(' ')) row.pop_back();
      table += row + "\n";
    }
  const std::string golden = std::string(DET_SOURCE_DIR) + "/rights/access_matrix.golden.txt";
  if (std::getenv("DET_WRITE_GOLDEN") != nullptr) std::ofstream(golden) << table;
  std::ifstream file(golden);
  std::stringstream expected;
  expected << file.rdbuf();
  std::istringstream have(table), want(expected.str());
  for (std::string is, was; std::getline(have, is);) {
    std::getline(want, was);
    EXPECT_EQ(is, was) << "see the head of access_matrix_test.cpp";
    if (is != was) break;
  }
  EXPECT_EQ(table, expected.str());
}

TEST_F(AccessMatrix, EveryDeclarationIsOfACallThatExists) {
  const auto listed = master_->closed_operations();
  const std::set<std::string> operations(listed.begin(), listed.end());
  for (const auto& rule : access_rules())
    EXPECT_TRUE(operations.contains(std::string(rule.operation))) << rule.operation;
  EXPECT_EQ(access_rules().size(), operations.size());
}

TEST_F(AccessMatrix, EveryCallOfTheServedDocumentIsDeclaredOrOpen) {
  const auto document = call("", "GET", "/api/v1/openapi.json").body;
  std::size_t calls = 0;
  for (const auto& [path, operations] : document.at("paths").get_object())
    for (const auto& [verb, operation] : operations.get_object()) {
      std::string name(verb);
      std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
      name += " " + std::string(path);
      ++calls;
      EXPECT_NE(operation.get_object().contains("security"), access_rule(name) != nullptr) << name;
    }
  EXPECT_GT(calls, 200u);
}

TEST_F(AccessMatrix, ListsLeaveOutWhatOneMayNotSee) {
  const auto things = make_things();
  const auto elsewhere = submit();
  const auto viewer = make_user("viewer"), stranger = make_user("stranger");
  assign("viewer", "Viewer", things.workspace);
  enforce();
  const auto count = [&](const std::string& token, const char* method, const char* path, const char* member) {
    const auto answer =
        call(token, method, path, std::string_view(method) == "GET" ? json::value() : json::object());
    EXPECT_EQ(answer.status, 200) << path << answer.text;
    if (answer.status != 200) return std::size_t{999};
    const auto& list = answer.body.at(member);
    return list.is_array() ? list.get_array().size() : list.get_object().size();
  };
  struct Row {
    const char *method, *path, *member;
    std::size_t admin, viewer, stranger;
  };
  for (const auto& row : std::vector<Row>{{"GET", "/api/v1/experiments", "experiments", 2, 1, 0},
                                          {"POST", "/api/v1/experiments-search", "experiments", 2, 1, 0},
                                          {"POST", "/api/v1/runs", "runs", 2, 1, 0},
                                          {"GET", "/api/v1/commands", "commands", 1, 1, 0},
                                          {"GET", "/api/v1/tasks", "allocationIdToSummary", 3, 2, 0},
                                          {"GET", "/api/v1/job-queues-v2", "jobs", 3, 2, 0},
                                          {"GET", "/api/v1/templates", "templates", 1, 1, 0},
                                          {"GET", "/api/v1/workspaces", "workspaces", 2, 1, 0}}) {
    EXPECT_EQ(count(admin_, row.method, row.path, row.member), row.admin) << row.path;
    EXPECT_EQ(count(viewer, row.method, row.path, row.member), row.viewer) << row.path;
    EXPECT_EQ(count(stranger, row.method, row.path, row.member), row.stranger) << row.path;
  }
  // What is there and hidden is answered in the words of what is not there.
  const auto hidden = call(viewer, "GET", fmt::format("/api/v1/experiments/{}", elsewhere));
  const auto absent = call(viewer, "GET", "/api/v1/experiments/999");
  EXPECT_EQ(hidden.status, 404);
  EXPECT_EQ(replaced(hidden.text, std::to_string(elsewhere), "999"), absent.text);
}

TEST_F(AccessMatrix, CallsThatMakeOrChooseAskBeforeTheyDo) {
  const auto things = make_things();
  const auto elsewhere = submit();
  const auto viewer = make_user("viewer"), editor = make_user("editor"), stranger = make_user("stranger");
  assign("viewer", "Viewer", things.workspace);
  assign("editor", "Editor", things.workspace);
  enforce();
  const std::string config =
      "name: x\nentrypoint: model:Trial\nhyperparameters: {global_batch_size: 8}\n"
      "searcher: {name: single, metric: loss, max_length: {batches: 10}}\n";
  const json::object experiment{{"config", config}, {"projectId", things.project}, {"validateOnly", true}};
  auto forked = experiment;
  forked["parentId"] = elsewhere;
  const json::object warm{{"config", config + "workspace: vision\nproject: detectors\n"},
                          {"parentId", elsewhere}};
  const json::object command{{"config", {{"entrypoint", {"true"}}}}, {"workspaceId", things.workspace}};
  json::array updates;
  updates.push_back(json::object{{"jobId", std::to_string(things.experiment)}, {"priority", 7}});
  const json::object queue{{"updates", updates}};
  struct Row {
    const char* path;
    json::object body;
    int stranger, viewer, editor;
  };
  for (const auto& row : std::vector<Row>{{"/api/v1/experiments", experiment, 404, 403, 200},
                                          {"/api/v1/experiments", forked, 404, 403, 404},
                                          {"/api/v1/experiments", warm, 404, 403, 404},
                                          {"/api/v1/commands", command, 404, 403, 200},
                                          {"/api/v1/job-queues", queue, 404, 403, 200}}) {
    const auto of = [&](const std::string& token) { return call(token, "POST", row.path, row.body); };
    EXPECT_EQ(of(stranger).status, row.stranger) << row.path << of(stranger).text;
    EXPECT_EQ(of(viewer).status, row.viewer) << row.path << of(viewer).text;
    const auto answer = of(editor);
    EXPECT_EQ(answer.status, row.editor) << row.path << answer.text;
  }
}

TEST_F(AccessMatrix, BulkCallsSayOfEachThingWhetherItWasAllowed) {
  const auto things = make_things();
  const auto elsewhere = submit();
  const auto editor = make_user("editor");
  assign("editor", "Editor", things.workspace);
  enforce();
  const auto done = call(editor, "POST", "/api/v1/projects/0/experiments/kill",
                         json::object{{"experimentIds", json::array{things.experiment, elsewhere}}});
  ASSERT_EQ(done.status, 200) << done.text;
  const auto& results = done.body.at("results").get_array();
  EXPECT_EQ(results.at(0).at("error"), json::value(""));
  EXPECT_EQ(results.at(1).at("error"), json::value(fmt::format("experiment '{}' not found", elsewhere)));
  EXPECT_EQ(call(user_, "GET", fmt::format("/api/v1/experiments/{}", elsewhere)).status, 404)
      << "the owner has no role where it is";
}

TEST_F(AccessMatrix, NobodyGivesMoreThanTheyHaveAndOneAdministratorStays) {
  const auto things = make_things();
  const auto chief = make_user("chief");
  assign("chief", "WorkspaceAdmin", things.workspace);
  make_user("ann");
  enforce();
  const auto give = [&](const std::string& token, std::int64_t user, std::string_view role,
                        std::int64_t where, const char* verb) {
    json::object to{{"role", {{"roleId", access::find_role(role)->id.value()}}}};
    if (where != 0) to["scopeWorkspaceId"] = where;
    json::array assignments;
    assignments.push_back(json::object{{"userId", user}, {"roleAssignment", to}});
    return call(token, "POST", fmt::format("/api/v1/roles/{}-assignments", verb),
                json::object{{"userRoleAssignments", assignments}})
        .status;
  };
  const std::int64_t ann = 4;
  EXPECT_EQ(give(chief, ann, "Editor", things.workspace, "add"), 200);
  EXPECT_EQ(give(chief, ann, "WorkspaceAdmin", things.workspace, "add"), 200);
  EXPECT_EQ(give(chief, ann, "Viewer", 0, "add"), 403);
  EXPECT_EQ(give(chief, ann, "ClusterAdmin", 0, "add"), 403);
  EXPECT_EQ(give(chief, ann, "ClusterAdmin", things.workspace, "add"), 400);
  EXPECT_EQ(give(chief, ann, "Viewer", 1, "add"), 404);
  EXPECT_EQ(give(admin_, 1, "ClusterAdmin", 0, "remove"), 400) << "the last one";
  EXPECT_EQ(call(admin_, "PATCH", "/api/v1/users/1", json::object{{"active", false}}).status, 400);
  EXPECT_EQ(give(admin_, ann, "ClusterAdmin", 0, "add"), 200);
  EXPECT_EQ(give(admin_, 1, "ClusterAdmin", 0, "remove"), 200);
  EXPECT_EQ(call(admin_, "GET", "/api/v1/master/config").status, 403) << "the flag alone counts no more";
}

TEST_F(AccessMatrix, ATaskHasTheRightsOfItsUserAndNeverThoseOfAnAdministrator) {
  const auto things = make_things();
  assign("determined", "Editor", things.workspace);
  const auto elsewhere =
      id_of(call(admin_, "POST", "/api/v1/workspaces", {{"name", "elsewhere"}}), "workspace");
  enforce();
  const auto task = sync("a", 1).desired.at(0);
  EXPECT_EQ(call(task.token, "GET", fmt::format("/api/v1/experiments/{}", things.experiment)).status, 200);
  EXPECT_EQ(call(task.token, "GET", fmt::format("/api/v1/workspaces/{}", elsewhere)).status, 404);
  EXPECT_EQ(call(task.token, "GET", "/api/v1/audit").status, 403);
  EXPECT_EQ(report(task, "training", 10, 0.5).status, 200);
}

TEST_F(AccessMatrix, WithoutRolesEverybodyChangesAndKillsButOnlyTheOwnerAndAdministratorsDelete) {
  const auto things = make_things();
  const auto other = make_user("other");
  const auto at = [&](const char* form) { return fmt::format(fmt::runtime(form), things.experiment); };
  EXPECT_EQ(call(other, "GET", at("/api/v1/experiments/{}")).status, 200);
  EXPECT_EQ(call(other, "PATCH", at("/api/v1/experiments/{}"), {{"name", "ours"}}).status, 200);
  EXPECT_EQ(call(other, "POST", at("/api/v1/experiments/{}/pause")).status, 200);
  EXPECT_EQ(call(other, "POST", at("/api/v1/experiments/{}/activate")).status, 200);
  EXPECT_EQ(call(other, "POST", fmt::format("/api/v1/trials/{}/kill", things.trial)).status, 200);
  EXPECT_EQ(call(other, "POST", at("/api/v1/experiments/{}/kill")).status, 200);
  EXPECT_EQ(call(other, "POST", fmt::format("/api/v1/tasks/{}/kill", things.trial_task)).status, 200);
  EXPECT_EQ(
      call(other, "POST", fmt::format("/api/v1/commands/{}/set_priority", things.task), {{"priority", 3}})
          .status,
      200);
  EXPECT_EQ(call(other, "POST", fmt::format("/api/v1/commands/{}/kill", things.task)).status, 200);
  const auto refused = call(other, "DELETE", at("/api/v1/experiments/{}"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.text.find(at("user 'other' cannot delete experiment {}: it belongs to user "
                                 "'determined'; only its owner and administrators can")),
            std::string::npos)
      << refused.text;
  EXPECT_EQ(call(other, "DELETE", "/api/v1/checkpoints",
                 json::object{{"checkpointUuids", json::array{things.checkpoint}}})
                .status,
            403);
  EXPECT_NE(call(user_, "DELETE", at("/api/v1/experiments/{}")).status, 403);
}

}  // namespace
}  // namespace det::master
