#include "det/trial/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>

#include "det/trial/fake_master.h"

namespace det::trial {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ClientTest : public ::testing::Test {
 protected:
  ClientOptions options() {
    ClientOptions options;
    options.master = master.url();
    options.token = "secret-token";
    options.experiment = ExperimentId{7};
    options.trial = TrialId{12};
    options.run = 2;
    options.task_id = "7.request";
    options.allocation_id = "7.request.2";
    options.retry = {.delay_min = milliseconds(1), .delay_max = milliseconds(10)};
    options.progress_interval = milliseconds(0);
    options.notice = [this](const std::string& text) { notices.push_back(text); };
    return options;
  }
  /// Waits until the master fulfils a condition.
  template <typename Condition>
  void until(Condition condition) {
    for (int i = 0; i < 10'000; ++i) {
      {
        const auto lock = master.lock();
        if (condition()) return;
      }
      ::usleep(1000);
    }
    FAIL() << "waited for ten seconds";
  }
  static json::object loss(double value) { return {{"loss", value}}; }

  FakeMaster master;
  std::vector<std::string> notices;
};

TEST_F(ClientTest, SpeaksTheProtocol) {
  Client client(options());
  ASSERT_TRUE(client.report_training(100, loss(0.5), {json::object{{"loss", 0.6}}}, 6400));
  ASSERT_TRUE(client.report_validation(100, loss(0.25), 1000));
  ASSERT_TRUE(client.report_progress(0.4));
  ASSERT_TRUE(client.report_state("training"));
  ASSERT_TRUE(client.begin_checkpoint("uuid-1"));
  ASSERT_TRUE(
      client.report_checkpoint("uuid-1", 100, {{"a/", 0}, {"a/model.pth", 1234}}, {{"framework", "torch"}}));
  ASSERT_TRUE(client.complete_operation(100, 0.25));
  ASSERT_TRUE(client.report_early_exit("EXITED_REASON_INVALID_HP"));
  ASSERT_TRUE(client.acknowledge_preemption());

  const auto lock = master.lock();
  ASSERT_EQ(master.bodies.size(), 9u);
  for (auto& body : master.bodies) {  // times differ from run to run
    EXPECT_TRUE(
        parse_rfc3339(body.contains("reportTime") ? body["reportTime"].as_string() : "2026-01-01T00:00:00Z"));
    if (body.contains("reportTime")) body["reportTime"] = "T";
    if (body.contains("metrics")) body["metrics"].as_object()["reportTime"] = "T";
  }
  const auto text = [&](std::size_t i) { return json::serialize(master.bodies[i]); };
  EXPECT_THAT(master.log[0], HasSubstr("POST /api/v1/trials/12/metrics "));
  EXPECT_EQ(
      text(0),
      R"({"group":"training","metrics":{"trialId":12,"trialRunId":2,"stepsCompleted":100,"reportTime":"T",)"
      R"("metrics":{"avgMetrics":{"loss":0.5},"batchMetrics":[{"loss":0.6}],"numInputs":6400}}})");
  EXPECT_EQ(
      text(1),
      R"({"group":"validation","metrics":{"trialId":12,"trialRunId":2,"stepsCompleted":100,"reportTime":"T",)"
      R"("metrics":{"avgMetrics":{"loss":0.25},"numInputs":1000}}})");
  EXPECT_EQ(master.log[2], R"(POST /api/v1/trials/12/progress {"progress":0.4,"is_raw":true})");
  EXPECT_EQ(master.log[3], R"(POST /api/v1/trials/12/runner/metadata {"state":"training"})");
  EXPECT_EQ(master.log[4], R"(POST /api/v1/trials/12/checkpoints/begin {"uuid":"uuid-1"})");
  EXPECT_THAT(master.log[5], HasSubstr("POST /api/v1/checkpoints "));
  EXPECT_EQ(
      text(5),
      R"({"uuid":"uuid-1","taskId":"7.request","allocationId":"7.request.2","reportTime":"T",)"
      R"("resources":{"a/":"0","a/model.pth":"1234"},"metadata":{"framework":"torch","steps_completed":100},)"
      R"("state":"STATE_COMPLETED"})");
  EXPECT_EQ(master.log[6],
            "POST /api/v1/trials/12/searcher/completed_operation "
            R"({"op":{"validateAfter":{"length":"100"}},"searcherMetric":0.25})");
  EXPECT_EQ(master.log[7], R"(POST /api/v1/trials/12/early_exit {"reason":"EXITED_REASON_INVALID_HP"})");
  EXPECT_EQ(master.log[8], "POST /api/v1/allocations/7.request.2/signals/ack_preemption {}");
  EXPECT_THAT(master.tokens, ElementsAre("secret-token"));
}

TEST_F(ClientTest, AnOlderMasterIsToldOfACheckpointOnlyWhenItIsSaved) {
  master.without_begin = true;
  Client client(options());
  EXPECT_TRUE(client.begin_checkpoint("uuid-1"));
  ASSERT_TRUE(client.report_checkpoint("uuid-1", 100, {}, {}));
  const auto lock = master.lock();
  EXPECT_EQ(master.log.size(), 1u);
}

TEST_F(ClientTest, CarriesNumbersThatJsonLacks) {
  Client client(options());
  ASSERT_TRUE(client.complete_operation(100, -std::numeric_limits<double>::infinity()));
  const auto nan = client.complete_operation(100, std::numeric_limits<double>::quiet_NaN());
  ASSERT_FALSE(nan);
  EXPECT_EQ(nan.error().code(), ErrorCode::InvalidArgument);
  const auto lock = master.lock();
  EXPECT_EQ(master.bodies[0]["searcherMetric"], "-Infinity");
}

TEST_F(ClientTest, ABadMasterLosesNothingAndDoublesNothing) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    FakeMaster flaky(seed);
    flaky.fault_percent = 40;
    auto with_flaky = options();
    with_flaky.master = flaky.url();
    Client client(with_flaky);
    for (int i = 1; i <= 100; ++i) {
      ASSERT_TRUE(client.report_training(i, loss(i), {}));
      if (i % 20 == 0) {
        ASSERT_TRUE(client.report_validation(i, loss(-i)));
      }
      if (i % 50 == 0) {
        ASSERT_TRUE(client.report_checkpoint("uuid-" + std::to_string(i), i, {}, {}));
      }
    }
    ASSERT_TRUE(client.close());

    const auto lock = flaky.lock();
    EXPECT_GT(flaky.faults, 10) << "the test is void";
    std::vector<std::string> expected;
    for (int i = 1; i <= 100; ++i) {
      expected.push_back("training " + std::to_string(i));
      if (i % 20 == 0) expected.push_back("validation " + std::to_string(i));
      if (i % 50 == 0) expected.push_back("uuid-" + std::to_string(i));
    }
    std::vector<std::string> arrived;
    for (auto& body : flaky.bodies)
      arrived.push_back(body.contains("uuid")
                            ? std::string(body["uuid"].as_string())
                            : std::string(body["group"].as_string()) + " " +
                                  std::to_string(body["metrics"].at("stepsCompleted").as_int64()));
    EXPECT_EQ(arrived, expected) << "all, once, and in the order of the calls";
  }
}

TEST_F(ClientTest, AFullQueueHoldsTheCallerUpAndLosesNothing) {
  auto narrow = options();
  narrow.limits.reports_max = 4;
  Client client(narrow);
  master.hold = true;
  std::atomic<int> reported = 0;
  std::thread trainer([&] {
    for (int i = 1; i <= 20; ++i) {
      EXPECT_TRUE(client.report_training(i, loss(i), {}));
      ++reported;
    }
  });
  while (reported < 4) std::this_thread::yield();
  ::usleep(20'000);
  EXPECT_EQ(reported, 4) << "more were accepted than the queue holds";
  {
    const auto lock = master.lock();
    master.hold = false;
  }
  trainer.join();
  ASSERT_TRUE(client.flush());
  const auto lock = master.lock();
  EXPECT_EQ(master.bodies.size(), 20u);
}

TEST_F(ClientTest, OnlyTheNewestProgressIsWorthSending) {
  Client client(options());
  master.hold = true;
  ASSERT_TRUE(client.report_training(1, loss(1), {}));
  for (int i = 0; i <= 50; ++i) ASSERT_TRUE(client.report_progress(i / 50.0));
  {
    const auto lock = master.lock();
    master.hold = false;
  }
  ASSERT_TRUE(client.flush());
  const auto lock = master.lock();
  EXPECT_LE(master.bodies.size(), 3u);
  EXPECT_EQ(master.bodies.back().at("progress"), 1.0);
}

TEST_F(ClientTest, TellsWhereRankZeroIsAndIsTold) {
  Client chief(options());
  ASSERT_TRUE(chief.publish_rendezvous({"10.0.0.5:4711", "127.0.0.1:4711"}));
  EXPECT_EQ(master.log.back(),
            "POST /api/v1/allocations/7.request.2/rendezvous "
            R"({"addresses":["10.0.0.5:4711","127.0.0.1:4711"]})");
  Client other(options());
  EXPECT_EQ(*other.rendezvous(milliseconds(10)), std::vector<std::string>{});
  {
    const auto lock = master.lock();
    master.rendezvous = R"({"addresses":["10.0.0.5:4711"]})";
  }
  EXPECT_EQ(*other.rendezvous(milliseconds(10)), std::vector<std::string>{"10.0.0.5:4711"});
}

TEST_F(ClientTest, GoneIsTheEndOfEveryCall) {
  Client client(options());
  ASSERT_TRUE(client.report_training(1, loss(1), {}));
  ASSERT_TRUE(client.flush());
  {
    const auto lock = master.lock();
    master.gone = true;
  }
  EXPECT_EQ(client.report_validation(2, loss(2)).error().code(), ErrorCode::Gone);
  EXPECT_EQ(client.report_training(3, loss(3), {}).error().code(), ErrorCode::Gone);
  EXPECT_EQ(client.preempt_requested().error().code(), ErrorCode::Gone);
  EXPECT_EQ(client.operations(0, milliseconds(0)).error().code(), ErrorCode::Gone);
  EXPECT_EQ(client.flush().error().code(), ErrorCode::Gone);
  EXPECT_EQ(client.close().error().code(), ErrorCode::Gone);
  const auto lock = master.lock();
  EXPECT_EQ(master.bodies.size(), 1u);
}

TEST_F(ClientTest, LearnsThatItIsGoneWhileItOnlyTrains) {
  Client client(options());
  EXPECT_EQ(client.preempt_requested(), false);
  {
    const auto lock = master.lock();
    master.gone = true;
  }
  Result<bool> asked = false;
  for (int i = 0; asked && i < 5000; ++i) {
    ::usleep(1000);
    asked = client.preempt_requested();
  }
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code(), ErrorCode::Gone);
}

TEST_F(ClientTest, ALateReportOfAnEarlierRunIsGoneToo) {
  Client client(options());
  master.refuse_status = 409;
  EXPECT_EQ(client.report_validation(1, loss(1)).error().code(), ErrorCode::Gone);
}

TEST_F(ClientTest, AQueuedReportThatIsRefusedFailsTheNextCall) {
  Client client(options());
  master.refuse_status = 400;
  ASSERT_TRUE(client.report_training(1, loss(1), {}));
  const auto flushed = client.flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code(), ErrorCode::InvalidArgument);
  EXPECT_THAT(flushed.error().message(), HasSubstr("metric \"x\" is refused"));
  EXPECT_FALSE(client.report_training(2, loss(2), {}));
}

TEST_F(ClientTest, OperationsComeInBatchesAndAreCompletedInTheSearchersUnits) {
  auto with_batch_size = options();
  with_batch_size.global_batch_size = 64;
  with_batch_size.records_per_epoch = 640;
  Client client(with_batch_size);
  master.operations =
      R"({"operations":[{"length":"1","completed":true},{"length":3,"completed":false}],"closed":true,"unit":"epochs"})";
  const auto operations = client.operations(0, milliseconds(1000));
  ASSERT_TRUE(operations);
  EXPECT_THAT(operations->lengths, ElementsAre(10, 30));
  EXPECT_EQ(operations->completed, 1);
  EXPECT_TRUE(operations->closed);
  ASSERT_TRUE(client.complete_operation(30, 0.5));
  const auto lock = master.lock();
  EXPECT_THAT(master.log[0], HasSubstr(R"({"length":"3"})"));
}

TEST_F(ClientTest, OperationsOfTheSameBatchesAreCompletedOneAfterTheOther) {
  auto with_batch_size = options();
  with_batch_size.global_batch_size = 64;
  Client client(with_batch_size);
  master.operations = R"({"operations":[{"length":65},{"length":66}],"closed":true,"unit":"records"})";
  ASSERT_THAT(client.operations(0, milliseconds(0))->lengths, ElementsAre(1, 1));
  ASSERT_TRUE(client.complete_operation(1, 0.5));
  ASSERT_TRUE(client.complete_operation(1, 0.5));
  const auto lock = master.lock();
  EXPECT_THAT(master.log[0], HasSubstr(R"({"length":"65"})"));
  EXPECT_THAT(master.log[1], HasSubstr(R"({"length":"66"})"));
}

TEST_F(ClientTest, SaysWhatAnEpochNeeds) {
  auto with_batch_size = options();
  with_batch_size.global_batch_size = 64;
  Client client(with_batch_size);
  master.operations = R"({"operations":[{"length":1}],"closed":false,"unit":"epochs"})";
  EXPECT_EQ(client.operations(0, milliseconds(0)).error().message(),
            "records_per_epoch is 0; it must be at least 1, because the searcher counts in epochs");
}

TEST_F(ClientTest, WaitsForAnOperationThatIsNotKnown) {
  Client client(options());
  std::thread searcher([&] {
    until([&] { return master.calls >= 0; });
    ::usleep(20'000);
    const auto lock = master.lock();
    master.operations = R"({"operations":[{"length":100}],"closed":false,"unit":"batches"})";
  });
  EXPECT_THAT(client.operations(0, milliseconds(10'000))->lengths, ElementsAre(100));
  searcher.join();
}

TEST_F(ClientTest, PreemptionEndsTheWaitForOperations) {
  Client client(options());
  std::thread scheduler([&] {
    ::usleep(20'000);
    const auto lock = master.lock();
    master.preempt = true;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(client.operations(0, std::chrono::seconds(60))->lengths.empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(client.preempt_requested(), true);
  EXPECT_TRUE(client.report_validation(1, loss(1))) << "a preempted trial still saves and reports";
  EXPECT_TRUE(client.acknowledge_preemption());
  scheduler.join();
}

TEST_F(ClientTest, AfterAPauseThatIsOverThereMayBeOperationsAndAnotherPause) {
  Client client(options());
  {
    const auto lock = master.lock();
    master.preempt = true;
  }
  while (!*client.preempt_requested()) ::usleep(1000);
  EXPECT_TRUE(client.acknowledge_preemption(true));
  EXPECT_EQ(master.log.back(),
            "POST /api/v1/allocations/7.request.2/signals/ack_preemption "
            R"({"canWait":true,"preemption":1})");
  EXPECT_EQ(*client.wish(milliseconds(10)), Client::Wish::Wait);
  {
    const auto lock = master.lock();
    master.preempt = false;
    master.wish = "GO_ON";
    master.operations = R"({"operations":[{"length":100}],"closed":false,"unit":"batches"})";
  }
  EXPECT_EQ(*client.wish(milliseconds(10)), Client::Wish::GoOn);
  EXPECT_EQ(*client.preempt_requested(), false);
  EXPECT_THAT(client.operations(0, milliseconds(10'000))->lengths, ElementsAre(100));
  {
    const auto lock = master.lock();
    master.preempt = true;
    master.wish = "LEAVE";
  }
  while (!*client.preempt_requested()) ::usleep(1000);
  EXPECT_EQ(*client.wish(milliseconds(10)), Client::Wish::Leave);
}

TEST_F(ClientTest, TheBestValidationIsUnknownBeforeTheFirst) {
  Client client(options());
  EXPECT_EQ(*client.best_validation(), std::nullopt);
  {
    const auto lock = master.lock();
    master.best = R"({"metric":0.125})";
  }
  EXPECT_EQ(*client.best_validation(), 0.125);
}

TEST_F(ClientTest, ClosingWaitsForWhatIsQueuedAndMayBeDoneTwice) {
  Client client(options());
  for (int i = 1; i <= 50; ++i) ASSERT_TRUE(client.report_training(i, loss(i), {}));
  EXPECT_TRUE(client.close());
  EXPECT_TRUE(client.close());
  EXPECT_EQ(client.report_training(51, loss(51), {}).error().code(), ErrorCode::FailedPrecondition);
  const auto lock = master.lock();
  EXPECT_EQ(master.bodies.size(), 50u);
}

TEST_F(ClientTest, ClosingOneThatWasNeverUsedDoesNothing) {
  Client client(options());
  EXPECT_TRUE(client.close());
  EXPECT_EQ(master.calls, 0);
}

TEST_F(ClientTest, DestroyingItWaitsForNobody) {
  master.hold = true;
  const auto start = std::chrono::steady_clock::now();
  {
    Client client(options());
    ASSERT_TRUE(client.report_training(1, loss(1), {}));
    EXPECT_EQ(client.preempt_requested(), false);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(ClientTest, DestroyingItAtAnyMomentWaitsForNobody) {
  Random random(1);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 300; ++i) {
    Client client(options());
    EXPECT_EQ(client.preempt_requested(), false);  // starts the long poll
    ::usleep(static_cast<unsigned>(random.below(1000)));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST_F(ClientTest, WhoeverWaitsIsAskedWhetherToGoOn) {
  auto impatient = options();
  impatient.poll = [] { throw std::runtime_error("interrupted by the user"); };
  Client client(impatient);
  master.hold = true;
  EXPECT_THROW(static_cast<void>(client.report_validation(1, loss(1))), std::runtime_error);
}

TEST_F(ClientTest, AForkMakesItsOwnConnection) {
  Client unused(options());
  Client used(options());
  ASSERT_EQ(used.preempt_requested(), false);
  const pid_t child = ::fork();
  if (child == 0) {
    int failures = 0;
    if (used.report_training(1, loss(1), {})) failures += 1;  // must be refused, not hang
    used.~Client();
    if (!unused.report_validation(1, loss(1))) failures += 2;
    ::_exit(failures);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(used.report_validation(2, loss(2)));
}

TEST_F(ClientTest, TellsAboutALongOutage) {
  auto waiting = options();
  waiting.master.port = 1;  // nobody listens there
  Client client(waiting);
  ASSERT_TRUE(client.report_training(1, loss(1), {}));
  for (int i = 0; i < 100 && notices.empty(); ++i) ::usleep(50'000);
  ASSERT_FALSE(notices.empty());
  EXPECT_THAT(notices.front(), HasSubstr("cannot reach the master ("));
}

TEST(ClientOptions, AreReadFromTheEnvironment) {
  std::map<std::string, std::string> environment = {
      {"DET_MASTER", "http://master:8080"},
      {"DET_SESSION_TOKEN", "t"},
      {"DET_EXPERIMENT_ID", "7"},
      {"DET_TRIAL_ID", "12"},
      {"DET_TRIAL_RUN_ID", "3"},
      {"DET_TASK_ID", "7.r"},
      {"DET_ALLOCATION_ID", "7.r.3"},
      {"DET_HPARAMS", R"({"global_batch_size":64})"},
      {"DET_EXPERIMENT_CONFIG", R"({"records_per_epoch":60000})"}};
  const auto variable = [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  const auto options = options_from_environment(variable);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->master.port, 8080);
  EXPECT_EQ(options->trial, TrialId{12});
  EXPECT_EQ(options->run, 3);
  EXPECT_EQ(options->global_batch_size, 64);
  EXPECT_EQ(options->records_per_epoch, 60000);

  environment["DET_TRIAL_ID"] = "twelve";
  EXPECT_EQ(options_from_environment(variable).error().message(),
            "DET_TRIAL_ID is \"twelve\"; it must be a number of at least 1");
  environment.erase("DET_TRIAL_ID");
  EXPECT_EQ(options_from_environment(variable).error().message(),
            "the environment variable DET_TRIAL_ID is not set; only an agent can start this process");
}

}  // namespace
}  // namespace det::trial
