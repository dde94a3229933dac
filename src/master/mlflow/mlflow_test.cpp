// MLflow's REST API over HTTP; with the real client: tests/e2e/clients/test_mlflow.py.

#include "det/base/text.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

class MlflowTest : public testing::MasterTest {
 protected:
  testing::Answer post(const std::string& path, const json::value& body) {
    return call(user_, "POST", "/api/2.0/mlflow/" + path, body);
  }
  testing::Answer get(const std::string& path) { return call(user_, "GET", "/api/2.0/mlflow/" + path); }
  std::string make(const std::string& name) {
    const auto made = post("experiments/create", json::object{{"name", name}});
    EXPECT_EQ(made.status, 200) << made.text;
    return std::string(made.body.at("experiment_id").as_string());
  }
  std::string begin(const std::string& experiment) {
    const auto made = post("runs/create", json::object{{"experiment_id", experiment}, {"start_time", 1000}});
    EXPECT_EQ(made.status, 200) << made.text;
    return std::string(made.body.at("run").at("info").at("run_id").as_string());
  }
  void log(const std::string& run, double value, int step) {
    const json::object metric{
        {"run_id", run}, {"key", "loss"}, {"value", value}, {"step", step}, {"timestamp", 1000 + step}};
    const auto done = post("runs/log-metric", metric);
    EXPECT_EQ(done.status, 200) << done.text;
  }
  json::value run(const std::string& id) { return get("runs/get?run_id=" + id).body.at("run"); }
};

TEST_F(MlflowTest, AnExperimentHasOneNameAndIsShownInThePlatform) {
  const auto id = make("digits");
  EXPECT_EQ(experiment(std::stoll(id)).at("name"), "digits");
  const auto again = post("experiments/create", json::object{{"name", "digits"}});
  EXPECT_EQ(again.status, 400);
  EXPECT_EQ(again.body.at("error_code"), "RESOURCE_ALREADY_EXISTS");
  const auto found = get("experiments/get-by-name?experiment_name=digits").body.at("experiment");
  EXPECT_EQ(found.at("experiment_id").as_string(), id);
  const auto missing = get("experiments/get?experiment_id=999");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body.at("error_code"), "RESOURCE_DOES_NOT_EXIST");
  EXPECT_EQ(get("experiments/get?experiment_id=0").body.at("experiment").at("name"), "Default");
}

TEST_F(MlflowTest, ARunKeepsEveryValueAlsoAfterARestart) {
  const auto id = begin(make("digits"));
  for (const auto& [value, step] : {std::pair{0.5, 0}, {0.4, 1}, {0.3, 1}, {0.9, -1}}) log(id, value, step);
  restart();
  user_ = log_in("determined");
  const auto answer = get("metrics/get-history?run_id=" + id + "&metric_key=loss");
  ASSERT_EQ(answer.status, 200) << answer.text;
  const auto& history = answer.body.at("metrics").as_array();
  std::multiset<double> values;
  for (const auto& one : history) values.insert(*json::to_double(one.at("value")));
  EXPECT_EQ(values, (std::multiset<double>{0.3, 0.4, 0.5, 0.9}));
  EXPECT_EQ(run(id).at("data").at("metrics").at(0).at("step"), 1);
}

TEST_F(MlflowTest, AParamIsAHyperparameterThatDoesNotChange) {
  const auto experiment = make("digits");
  const auto id = begin(experiment);
  const json::object param{{"run_id", id}, {"key", "lr"}, {"value", "0.1"}};
  EXPECT_EQ(post("runs/log-parameter", param).status, 200);
  EXPECT_EQ(post("runs/log-parameter", param).status, 200);
  auto other = param;
  other["value"] = "0.2";
  const auto refused = post("runs/log-parameter", other);
  EXPECT_EQ(refused.body.at("error_code"), "INVALID_PARAMETER_VALUE") << refused.text;
  const auto trials = call(user_, "GET", "/api/v1/experiments/" + experiment + "/trials").body.at("trials");
  EXPECT_EQ(trials.at(0).at("hparams"), (json::object{{"lr", "0.1"}}));
}

TEST_F(MlflowTest, TheStatusOfARunIsThatOfItsTrial) {
  const auto experiment = make("digits");
  for (const auto& [status, state] :
       {std::pair{"FINISHED", "STATE_COMPLETED"}, {"FAILED", "STATE_ERROR"}, {"KILLED", "STATE_CANCELED"}}) {
    const auto id = begin(experiment);
    EXPECT_EQ(
        post("runs/update", json::object{{"run_id", id}, {"status", status}, {"end_time", 5000}}).status,
        200);
    EXPECT_EQ(run(id).at("info").at("status"), status);
    const auto trials =
        call(user_, "GET", "/api/v1/experiments/" + experiment + "/trials?sort_by=SORT_BY_ID");
    EXPECT_EQ(trials.body.at("trials").as_array().back().at("state"), state);
  }
}

TEST_F(MlflowTest, RunsAreFoundPageByPage) {
  const auto experiment = make("digits");
  for (int i = 0; i < 3; ++i) log(begin(experiment), i, 0);
  json::object search{
      {"experiment_ids", json::array{experiment}}, {"filter", "metrics.loss > 0"}, {"max_results", 1}};
  search["order_by"] = json::array{"metrics.loss DESC"};
  const auto first = post("runs/search", search);
  ASSERT_EQ(first.body.at("runs").as_array().size(), 1U) << first.text;
  EXPECT_EQ(first.body.at("runs").at(0).at("data").at("metrics").at(0).at("value").to_number<double>(), 2);
  search["page_token"] = first.body.at("next_page_token");
  const auto second = post("runs/search", search);
  EXPECT_EQ(second.body.at("runs").at(0).at("data").at("metrics").at(0).at("value").to_number<double>(), 1);
  EXPECT_FALSE(second.body.as_object().contains("next_page_token"));
  search["filter"] = "metrics.loss";
  EXPECT_EQ(post("runs/search", search).status, 400);
}

TEST_F(MlflowTest, AFileIsUploadedListedDownloadedAndDeleted) {
  const auto experiment = make("digits");
  const auto id = begin(experiment);
  const auto root = "/api/2.0/mlflow-artifacts/artifacts/" + experiment + "/" + id + "/artifacts/";
  for (const auto* text : {"one", "three"})
    EXPECT_EQ(call_text(user_, "PUT", root + "notes/a.txt", text).status, 200);
  EXPECT_EQ(call_text(user_, "GET", root + "notes/a.txt", "").text, "three");
  const auto listed = get("artifacts/list?run_id=" + id + "&path=notes").body.at("files").as_array();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].at("path"), "notes/a.txt");
  EXPECT_EQ(listed[0].at("file_size"), 5);
  EXPECT_EQ(call_text(user_, "GET", root + "notes/b.txt", "").status, 404);
  EXPECT_EQ(call_text(user_, "PUT", root + "%2e%2e/b.txt", "x").status, 400);
  EXPECT_EQ(call_text(user_, "DELETE", root + "notes", "").status, 200);
  EXPECT_EQ(call_text(user_, "GET", root + "notes/a.txt", "").status, 404);
}

TEST_F(MlflowTest, ANameAndAPasswordLogInOnlyForMlflow) {
  http::Client client(url_);
  const auto ask = [&](const std::string& path, const std::string& words) {
    http::Call call{.method = "GET", .path = path, .headers = {}};
    call.headers.set("Authorization", "Basic " + base64_encode(words));
    return client.request(std::move(call))->status;
  };
  EXPECT_EQ(ask("/api/2.0/mlflow/experiments/get?experiment_id=0", "determined:"), 200);
  EXPECT_EQ(ask("/api/2.0/mlflow/experiments/get?experiment_id=0", "determined:wrong"), 401);
  EXPECT_EQ(ask("/api/v1/experiments", "determined:"), 401);
}

}  // namespace
}  // namespace det::master
