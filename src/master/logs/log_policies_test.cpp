// What happens when a trial prints a line that its configuration looks for.

#include <gmock/gmock.h>

#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class LogPoliciesTest : public testing::MasterTest {
 protected:
  void print(const api::DesiredAllocation& task, const std::string& text, const std::string& agent = "a") {
    const api::LogEntry entry{
        .rank = 0, .stdtype = "stderr", .sequence = lines_++, .timestamp = Time{5}, .log = text};
    api::LogBatch batch{.allocation_id = task.allocation_id, .entries = {entry}};
    const auto answer =
        call(agent_token(), "POST", fmt::format("/api/v1/agents/{}/logs", agent), http::to_wire(batch));
    ASSERT_EQ(answer.status, 200) << answer.text;
  }
  std::string log_of(const api::DesiredAllocation& task) {
    return call(user_, "GET", fmt::format("/api/v1/trials/{}/logs", task.trial_id)).text;
  }

 private:
  std::int64_t lines_ = 0;
};

TEST_F(LogPoliciesTest, ALogIsSearchedForATextOrARegularExpression) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  for (const auto* line : {"loss 0.5", "loss 0.25 (best)", "done"}) print(task, line);
  const auto path = fmt::format("/api/v1/trials/{}/logs?", task.trial_id);
  const auto found = [&](const std::string& query) { return call(user_, "GET", path + query).text; };
  EXPECT_THAT(found("searchText=%28best"), HasSubstr("0.25 (best)"));
  EXPECT_THAT(found("searchText=loss.*5"), ::testing::IsEmpty()) << "a text is no expression";
  const auto both = found("searchText=loss.*5&enableRegex=true");
  EXPECT_THAT(both, ::testing::AllOf(HasSubstr("loss 0.5"), HasSubstr("loss 0.25"),
                                     ::testing::Not(HasSubstr("done"))));
  const auto last = found("searchText=^loss&enable_regex=true&limit=1&orderBy=ORDER_BY_DESC");
  EXPECT_THAT(last, ::testing::AllOf(HasSubstr("loss 0.25"), ::testing::Not(HasSubstr("loss 0.5"))));
  EXPECT_THAT(found("searchText=%28best&enableRegex=true"),
              HasSubstr("(best\\\" is not a valid regular expression"));
  EXPECT_THAT(found("levels=LOUD"), HasSubstr("levels has 'LOUD'"));
}

TEST_F(LogPoliciesTest, AFailureAfterSuchALineIsTheTrialsLastAlsoOverARestartOfTheMaster) {
  const auto id = submit(
      "max_restarts: 5\nlog_policies: [{name: full, pattern: 'No space left (on|in) device', action: "
      "cancel_retries}]\n");
  const auto task = sync("a", 1).desired.at(0);
  print(task, "all is well");
  print(task, "OSError: No space left on device");
  restart();
  print(task, "OSError: No space left on device");
  exit("a", 1, task.allocation_id, 1);
  const auto told = experiment(id);
  EXPECT_EQ(told.at("state"), "STATE_ERROR");
  EXPECT_EQ(call(user_, "GET", "/api/v1/trials/1").body.at("trial").at("logPolicyMatched"), "full");
  const auto log = log_of(task);
  EXPECT_THAT(log, HasSubstr("log policy 'full' matched; if the trial fails, it is not restarted"));
  EXPECT_THAT(
      log,
      HasSubstr("trial failed and matched logs to a don't retry policy: log policy 'full' matched the line: "
                "OSError: No space left on device"));
}

TEST_F(LogPoliciesTest, AnAgentThatIsExcludedDoesNotRunTheTrialAgain) {
  submit("max_restarts: 5\nlog_policies: [{pattern: broken, action: {type: exclude_node}}]\n");
  const auto task = sync("a", 1).desired.at(0);
  print(task, "this machine is broken");
  exit("a", 1, task.allocation_id, 1);
  EXPECT_TRUE(sync("a", 1).desired.empty());
  const auto why = call(user_, "GET", "/api/v1/job-queues/1/why").text;
  EXPECT_THAT(why, HasSubstr("1 agent is excluded because the trial failed there"));
  const auto elsewhere = sync("b", 1).desired;
  ASSERT_EQ(elsewhere.size(), 1u);
  EXPECT_EQ(elsewhere[0].run_id, 2);
}

TEST_F(LogPoliciesTest, WithoutAnActionALineIsOnlyNotedAndWhatIsSwitchedOffIsNot) {
  submit("log_policies: [{name: ECC Error, pattern: null}]\n");
  const auto task = sync("a", 1).desired.at(0);
  print(task, "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB");
  print(task, "uncorrectable ECC error encountered");
  EXPECT_THAT(log_of(task), HasSubstr("log policy 'CUDA OOM' matched"));
  EXPECT_THAT(log_of(task), ::testing::Not(HasSubstr("'ECC Error'")));
  EXPECT_EQ(call(user_, "GET", "/api/v1/trials/1").body.at("trial").at("logPolicyMatched"), "CUDA OOM");
  exit("a", 1, task.allocation_id, 1);
  EXPECT_EQ(sync("a", 1).desired.size(), 1u) << "it is restarted";
}

TEST_F(LogPoliciesTest, AScriptThatPrintsItsConfigurationHasNotFailed) {
  submit();
  const auto task = sync("a", 1).desired.at(0);
  print(task, R"({'log_policies': [{'name': 'CUDA OOM', 'pattern': '.*CUDA out of memory.*'}]})");
  print(task, "    pattern: .*CUDA out of memory.*");
  EXPECT_THAT(log_of(task), ::testing::Not(HasSubstr("CUDA OOM' matched")));
  print(task, "torch.OutOfMemoryError: CUDA out of memory, whatever the access pattern");
  EXPECT_THAT(log_of(task), HasSubstr("log policy 'CUDA OOM' matched"));
}

TEST_F(LogPoliciesTest, APatternThatIsNoneIsRefusedAtSubmission) {
  const auto refused = call(
      user_, "POST", "/api/v1/experiments",
      json::object{
          {"config",
           "entrypoint: m:T\nhyperparameters: {global_batch_size: 8}\nsearcher: {name: single, metric: loss, "
           "max_length: {batches: 10}}\nlog_policies: [{name: odd, pattern: '(', action: "
           "cancel_retries}]\n"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.text, HasSubstr("is not a valid regular expression: missing )"));
}

}  // namespace
}  // namespace det::master
