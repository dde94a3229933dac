// Experiments whose processes run outside the cluster, over HTTP, and their silence in time that is played.

#include "det/master/unmanaged/unmanaged.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "det/master/testing.h"

namespace det::master {
namespace {

class UnmanagedTest : public testing::MasterTest {
 protected:
  static constexpr const char* kConfig =
      "name: laptop\ndata: null\nlabels: null\nsearcher: {name: custom, metric: loss}\n"
      "checkpoint_storage: {type: directory, container_path: /tmp/elsewhere}\n";

  testing::Answer post(const std::string& path, const json::value& body) {
    return call(user_, "POST", path, body);
  }
  std::int64_t track(const std::string& name = "") {
    const json::object body{{"config", kConfig}, {"unmanaged", true}};
    const auto answer = name.empty() ? post("/api/v1/experiments", body)
                                     : call(user_, "PUT", "/api/v1/experiments/by-external-id/" + name, body);
    EXPECT_EQ(answer.status, 200) << answer.text;
    return *json::to_int64(answer.body.at("experiment").at("id"));
  }
  json::value add_trial(std::int64_t experiment, const std::string& name = "") {
    const json::object made{
        {"experimentId", experiment}, {"unmanaged", true}, {"hparams", json::object{{"lr", 0.1}}}};
    const auto answer = name.empty()
                            ? post("/api/v1/trials", made)
                            : call(user_, "PUT", "/api/v1/trials",
                                   json::object{{"createTrialRequest", made}, {"externalTrialId", name}});
    EXPECT_EQ(answer.status, 200) << answer.text;
    return answer.body.at("trial");
  }
  std::int64_t trial_of(std::int64_t experiment) { return *json::to_int64(add_trial(experiment).at("id")); }
  json::value start_run(std::int64_t trial, bool resume = true) {
    return post(fmt::format("/api/v1/trials/{}/start", trial), json::object{{"resume", resume}}).body;
  }
  int report(std::int64_t trial, int run, const char* group, int steps, double loss) {
    const json::object metrics{
        {"trialRunId", run}, {"stepsCompleted", steps}, {"metrics", {{"avgMetrics", {{"loss", loss}}}}}};
    return post(fmt::format("/api/v1/trials/{}/metrics", trial),
                json::object{{"group", group}, {"metrics", metrics}})
        .status;
  }
  int save(const json::value& trial, const std::string& uuid, int steps) {
    return post("/api/v1/checkpoints", json::object{{"uuid", uuid},
                                                    {"taskId", trial.at("taskId")},
                                                    {"metadata", json::object{{"steps_completed", steps}}}})
        .status;
  }
  int say(std::int64_t trial, const char* state) {
    return call(user_, "PATCH", fmt::format("/api/v1/trials/{}", trial),
                state == nullptr ? json::object() : json::object{{"state", state}})
        .status;
  }
  json::value trial(std::int64_t id) {
    return call(user_, "GET", fmt::format("/api/v1/trials/{}", id)).body.at("trial");
  }
};

TEST_F(UnmanagedTest, IsTrackedFromItsStartToItsEnd) {
  const auto id = track();
  auto shown = experiment(id);
  EXPECT_EQ(shown.at("state"), "STATE_RUNNING");
  EXPECT_EQ(shown.at("unmanaged"), true);
  EXPECT_EQ(shown.at("searcherType"), "custom");
  const auto made = trial_of(id);
  EXPECT_EQ(start_run(made).at("trialRunId"), 1);
  EXPECT_EQ(report(made, 1, "training", 10, 0.5), 200);
  EXPECT_EQ(report(made, 1, "validation", 10, 0.4), 200);
  EXPECT_EQ(report(made, 1, "validation", 20, 0.6), 200);
  EXPECT_EQ(post(fmt::format("/api/v1/trials/{}/progress", made), json::object{{"progress", 0.5}}).status,
            200);
  EXPECT_EQ(experiment(id).at("progress"), 0.5);
  EXPECT_EQ(trial(made).at("searcherMetricValue"), 0.4);
  EXPECT_EQ(trial(made).at("hparams").at("lr"), 0.1);
  EXPECT_EQ(
      call(user_, "GET", fmt::format("/api/v1/experiments/{}/searcher/best_searcher_validation_metric", id))
          .body.at("metric"),
      0.4);
  EXPECT_EQ(say(made, "STATE_COMPLETED"), 200);
  shown = experiment(id);
  EXPECT_EQ(shown.at("state"), "STATE_COMPLETED");
  EXPECT_EQ(shown.at("progress"), 1.0);
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/experiments/{}/archive", id)).status, 200);
  EXPECT_EQ(
      call(user_, "POST", "/api/v1/trials", json::object{{"experimentId", id}, {"unmanaged", true}}).status,
      400)
      << "it is archived";
}

TEST_F(UnmanagedTest, TheSameNamesGoOnFromTheLatestCheckpointAlsoAfterARestart) {
  const auto id = track("study");
  const auto made = add_trial(id, "first");
  const auto number = *json::to_int64(made.at("id"));
  EXPECT_EQ(start_run(number).at("stepsCompleted"), 0);
  EXPECT_EQ(report(number, 1, "training", 10, 0.5), 200);
  EXPECT_EQ(save(made, "c1", 10), 200);
  EXPECT_EQ(report(number, 1, "training", 20, 0.25), 200);
  restart();
  EXPECT_EQ(track("study"), id);
  EXPECT_EQ(add_trial(id, "first").at("id"), number);
  EXPECT_EQ(call(user_, "GET", "/api/v1/trials/by-external-id/study/first").body.at("trial").at("id"),
            number);
  EXPECT_EQ(call(user_, "GET", "/api/v1/trials/by-external-id/study/other").status, 404);
  const auto run = start_run(number);
  EXPECT_EQ(run.at("trialRunId"), 2);
  EXPECT_EQ(run.at("latestCheckpoint"), "c1");
  EXPECT_EQ(run.at("stepsCompleted"), 10);
  EXPECT_EQ(report(number, 1, "training", 30, 0.1), 409) << "the first run is over";
  EXPECT_EQ(report(number, 2, "training", 20, 0.3), 200) << "what the first run said of step 20 is gone";
  EXPECT_EQ(report(number, 2, "training", 20, 0.3), 200) << "the same again changes nothing";
  EXPECT_EQ(trial(number).at("restarts"), 1);
  EXPECT_EQ(start_run(number, false).if_object()->if_contains("latestCheckpoint"), nullptr);
}

TEST_F(UnmanagedTest, AnExperimentIsOverAsItsTrialsAreAndGoesOnWithThem) {
  const auto id = track();
  const auto one = trial_of(id), two = trial_of(id);
  start_run(one);
  start_run(two);
  EXPECT_EQ(say(one, "STATE_ERROR"), 200);
  EXPECT_EQ(experiment(id).at("state"), "STATE_RUNNING");
  EXPECT_EQ(say(two, "STATE_COMPLETED"), 200);
  EXPECT_EQ(experiment(id).at("state"), "STATE_ERROR");
  start_run(one);
  EXPECT_EQ(experiment(id).at("state"), "STATE_RUNNING");
  EXPECT_EQ(say(one, "STATE_COMPLETED"), 200);
  EXPECT_EQ(experiment(id).at("state"), "STATE_COMPLETED");
  EXPECT_EQ(call(user_, "DELETE", fmt::format("/api/v1/experiments/{}", id)).status, 200);
}

TEST_F(UnmanagedTest, TheClusterDoesNotCommandItAndItsTrialsAreNoTasksOfTheCluster) {
  const auto id = track();
  const auto made = trial_of(id);
  for (const auto* verb : {"pause", "activate", "cancel", "kill"}) {
    const auto answer = call(user_, "POST", fmt::format("/api/v1/experiments/{}/{}", id, verb));
    EXPECT_EQ(answer.status, 400) << verb;
    EXPECT_NE(answer.text.find("runs outside the cluster"), std::string::npos) << answer.text;
  }
  EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/trials/{}/kill", made)).status, 400);
  EXPECT_EQ(call(user_, "PATCH", fmt::format("/api/v1/experiments/{}", id),
                 json::object{{"resources", json::object{{"priority", 1}}}})
                .status,
            400);
  EXPECT_EQ(
      call(user_, "PATCH", fmt::format("/api/v1/experiments/{}", id), json::object{{"name", "new"}}).status,
      200);
  EXPECT_EQ(say(made, "STATE_COMPLETED"), 200);
  EXPECT_EQ(experiment(id).at("name"), "new") << "a later change keeps it";

  submit();
  const auto task = sync("a", 1).desired.at(0);
  const auto managed = task.trial_id.value();
  EXPECT_EQ(call(task.token, "PATCH", fmt::format("/api/v1/trials/{}", made), json::object()).status, 403);
  EXPECT_EQ(say(managed, "STATE_COMPLETED"), 400);
  EXPECT_EQ(post(fmt::format("/api/v1/trials/{}/start", managed), json::object()).status, 400);
  EXPECT_EQ(report(managed, 1, "training", 1, 1), 200) << "its user may report for it, too";
  EXPECT_EQ(say(999, nullptr), 404);
}

TEST_F(UnmanagedTest, ItsLogIsShippedByItsProcesses) {
  const auto made = add_trial(track());
  const auto task = std::string(made.at("taskId").get_string());
  const json::array lines{json::object{{"task_id", task}, {"log", "one\n"}, {"rank", "3"}},
                          json::object{{"task_id", task}, {"log", "two\nthree\n"}}};
  EXPECT_EQ(call(user_, "POST", "/task-logs", lines).status, 200);
  EXPECT_EQ(call("", "POST", "/task-logs", lines).status, 401);
  EXPECT_EQ(post("/api/v1/task/logs",
                 json::object{
                     {"logs", json::array{json::object{{"taskId", task}, {"log", "four"}, {"rankId", 1}}}}})
                .status,
            200);
  const auto text = call(user_, "GET", fmt::format("/api/v1/tasks/{}/logs", task)).text;
  for (const auto* word : {"one", "two", "three", "four", "[rank=3]"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
  submit();
  const auto managed = sync("a", 1).desired.at(0).task_id;
  EXPECT_EQ(
      call(user_, "POST", "/task-logs", json::array{json::object{{"task_id", managed}, {"log", "x"}}}).status,
      400);
}

TEST_F(UnmanagedTest, BadRequestsSayWhatIsWrong) {
  const auto id = track();
  EXPECT_EQ(post("/api/v1/trials", json::object{{"experimentId", id}}).status, 400)
      << "not said to be unmanaged";
  EXPECT_EQ(post("/api/v1/trials", json::object{{"experimentId", 99}, {"unmanaged", true}}).status, 404);
  const auto managed = submit();
  EXPECT_EQ(post("/api/v1/trials", json::object{{"experimentId", managed}, {"unmanaged", true}}).status, 400);
  EXPECT_EQ(say(trial_of(id), "STATE_PAUSED"), 400);
  const auto made = trial_of(id);
  EXPECT_EQ(report(made, 0, "training", 1, 1), 400) << "it was never started";
  const auto bad = post("/api/v1/experiments", json::object{{"config", "labels: 3\n"}, {"unmanaged", true}});
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.text.find("labels"), std::string::npos) << bad.text;
}

/// Without a master, in time that the test plays.
class SilenceTest : public ::testing::Test {
 protected:
  SilenceTest() {
    std::filesystem::remove_all(directory_);
    store_ = *store::open_sqlite({.path = directory_ / "test.db", .on_stall = {}});
    ledger_ = std::make_unique<Ledger>(context_.get_executor(), *store_, [this] { return Time{++clock_}; });
    EXPECT_TRUE(ledger_->restore());
    load();
  }
  ~SilenceTest() override {
    pool_.join();
    unmanaged_.reset();
    ledger_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  void load() {
    unmanaged_ = std::make_unique<Unmanaged>(*ledger_, *store_, pool_);
    unmanaged_->load(ledger_->now());
  }
  template <class T>
  T wait(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(context_, std::move(work), [&](std::exception_ptr failure, T value) {
      if (failure) std::rethrow_exception(failure);
      result = std::move(value);
    });
    run_until([&] { return result.has_value(); });
    return *std::move(result);
  }
  void run_until(const std::function<bool()>& done) {
    auto guard = asio::make_work_guard(context_);
    context_.restart();
    while (!done()) context_.run_one_for(std::chrono::seconds(1));
  }
  /// This much later.
  void later(std::int64_t microseconds) {
    clock_ += microseconds;
    bool over = false;
    asio::co_spawn(context_, unmanaged_->tick(ledger_->now()), [&](std::exception_ptr) { over = true; });
    run_until([&] { return over; });
  }
  TrialId started() {
    experiment::ExperimentRecord record{.name = "x"};
    record.config = json::object{{"searcher", json::object{{"name", "single"}, {"metric", "loss"}}}};
    record.owner = UserId{2};
    experiment_ = *wait(unmanaged_->create(record, "", "user 2"));
    const auto id = *wait(unmanaged_->create_trial(experiment_, json::object(), "", "user 2"));
    EXPECT_TRUE(wait(unmanaged_->start(id, true)));
    return id;
  }
  experiment::State state_of(TrialId id) { return store_->trial(id)->state; }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / fmt::format("silence-test-{}", ::getpid());
  std::int64_t clock_ = 1'000 * kSecond;
  asio::io_context context_{1};
  asio::thread_pool pool_{1};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Unmanaged> unmanaged_;
  ExperimentId experiment_;
};

TEST_F(SilenceTest, ATrialThatIsNotHeardForFiveMinutesHasFailedUntilItIsHeardAgain) {
  const auto id = started();
  later(4 * 60 * kSecond);
  ASSERT_TRUE(wait(unmanaged_->heard(id, std::nullopt)));
  later(4 * 60 * kSecond);
  EXPECT_EQ(state_of(id), experiment::State::Active) << "a heartbeat is a sign of life";
  later(2 * 60 * kSecond);
  EXPECT_EQ(state_of(id), experiment::State::Error);
  EXPECT_EQ(store_->experiment(experiment_)->state, experiment::State::Error);
  EXPECT_NE(store_->experiment(experiment_)->error.find("has not reported"), std::string::npos);
  ASSERT_TRUE(wait(unmanaged_->heard(id, std::nullopt)));
  EXPECT_EQ(state_of(id), experiment::State::Active) << "a laptop that slept";
  EXPECT_EQ(store_->experiment(experiment_)->state, experiment::State::Active);
}

TEST_F(SilenceTest, ARestartOfTheMasterIsNotTheSilenceOfATrial) {
  const auto id = started();
  clock_ += 3'600 * kSecond;
  load();
  later(60 * kSecond);
  EXPECT_EQ(state_of(id), experiment::State::Active);
  later(5 * 60 * kSecond);
  EXPECT_EQ(state_of(id), experiment::State::Error);
}

TEST_F(SilenceTest, WhoEndedItselfIsNotBroughtBackByALateWord) {
  const auto id = started();
  ASSERT_TRUE(wait(unmanaged_->heard(id, experiment::State::Completed)));
  later(kSecond);
  ASSERT_TRUE(wait(unmanaged_->heard(id, std::nullopt)));
  EXPECT_EQ(state_of(id), experiment::State::Completed);
}

TEST_F(SilenceTest, AnExperimentInWhichNobodyMadeATrialIsOver) {
  experiment::ExperimentRecord record{.name = "x"};
  record.config = json::object{{"searcher", json::object{{"name", "single"}, {"metric", "loss"}}}};
  const auto id = *wait(unmanaged_->create(record, "named", "user 2"));
  later(6 * 60 * kSecond);
  EXPECT_EQ(store_->experiment(id)->state, experiment::State::Error);
  ASSERT_TRUE(wait(unmanaged_->create_trial(id, json::object(), "", "user 2")));
  EXPECT_EQ(store_->experiment(id)->state, experiment::State::Active);
}

}  // namespace
}  // namespace det::master
