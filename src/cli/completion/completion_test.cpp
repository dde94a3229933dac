// What a shell offers when Tab is pressed.

#include "det/cli/completion/completion.h"

#include <gmock/gmock.h>

#include "det/cli/test_master.h"

namespace det::cli::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> offered(std::vector<std::string> words, const AskMaster& ask = nullptr) {
  const std::vector<ExtraCommand> extra = {{"up", "Start a master", nullptr},
                                           {"shim", "for programs", nullptr, /*hidden=*/true}};
  std::vector<std::string> all;
  for (const auto& candidate : complete(root_command(), extra, std::move(words), ask))
    all.push_back(candidate.word);
  return all;
}

TEST(Completion, OffersCommandsByTheirFullNames) {
  EXPECT_THAT(offered({""}), IsSupersetOf({"experiment", "trial", "up"}));
  EXPECT_THAT(offered({""}), Not(Contains("shim")));
  EXPECT_THAT(offered({"ex"}), ElementsAre("experiment"));
  EXPECT_THAT(offered({"experiment", "list-"}), ElementsAre("list-checkpoints", "list-trials"));
  EXPECT_THAT(offered({"e", "set", "max-s"}), ElementsAre("max-slots"));
}

TEST(Completion, OffersAnAliasOnlyWhereItIsTyped) {
  EXPECT_THAT(offered({"experiment", "unp"}), ElementsAre("unpause"));
  EXPECT_THAT(offered({"experiment", ""}), Not(Contains("unpause")));
}

TEST(Completion, OffersTheOptionsOfACommandAndOfTheDefaultOne) {
  EXPECT_THAT(offered({"experiment", "create", "--t"}), IsSupersetOf({"--template", "--test"}));
  EXPECT_THAT(offered({"experiment", "--j"}), ElementsAre("--json"));
  EXPECT_THAT(offered({"trial", "-"}), IsEmpty()) << "there is no default command";
}

TEST(Completion, LeavesFilesAndValuesToTheShell) {
  EXPECT_THAT(offered({"experiment", "create", ""}), IsEmpty());
  EXPECT_THAT(offered({"experiment", "nonsense", ""}), IsEmpty());
  EXPECT_THAT(offered({"--master", ""}), IsEmpty());
}

TEST(Completion, AsksTheMasterForWhatAnArgumentOrAnOptionNames) {
  const AskMaster echo = [](const std::string& kind, const std::string& prefix) {
    return std::vector<Candidate>{{kind + "=" + prefix, ""}};
  };
  for (const auto& [words, kind] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"experiment", "pause", "1"}, "EXPERIMENT_ID=1"},
           {{"trial", "logs", "-f", ""}, "TRIAL_ID="},
           {{"trial", "logs", "--tail", "5", ""}, "TRIAL_ID="},
           {{"model", "move", "m", "v"}, "WORKSPACE=v"},
           {{"model", "describe", "f"}, "model NAME=f"},
           {{"notebook", "kill", "one", ""}, "notebook ID="},
           {{"checkpoint", "describe", ""}, "UUID="},
           {{"resource-pool", "bindings", "add", "gpu", "a", ""}, "WORKSPACE="},
           {{"model", "create", "m", "-w", ""}, "WORKSPACE="}})
    EXPECT_THAT(offered(words, echo), ElementsAre(kind));
  EXPECT_THAT(offered({"model", "create", ""}, echo), IsEmpty()) << "it has no name yet";
  EXPECT_THAT(offered({"trial", "logs", "3", ""}, echo), IsEmpty()) << "there is no more argument";
  EXPECT_THAT(offered({"experiment", "pause", "--"}, echo), Contains("--help"));
}

std::string answered(std::vector<std::string> words, const TestMaster& master, const Variables& more = {}) {
  Variables variables = {{"DET_MASTER", master.url()}};
  variables.insert(more.begin(), more.end());
  words.insert(words.begin(), "complete-words");
  const auto done = run_words(std::move(words), variables);
  EXPECT_EQ(done.err, "");
  return done.out;
}

TEST(Completion, OffersWhatTheMasterHas) {
  TestMaster master;
  const Variables token = {{"DET_USER_TOKEN", "token-1"}};
  det("user whoami", master);  // the master knows its first token now
  master.answer(
      "GET /api/v1/experiments",
      R"({"experiments":[{"id":12,"name":"mnist","state":"STATE_ACTIVE"},{"id":7,"name":"old","state":"STATE_ERROR"}]})");
  master.answer("GET /api/v1/experiments/12/trials", R"({"trials":[{"id":40,"state":"STATE_RUNNING"}]})");
  master.answer("GET /api/v1/experiments/7/trials", R"({"trials":[{"id":31,"state":"STATE_ERROR"}]})");
  master.answer("GET /api/v1/users", R"({"users":[{"username":"ann","displayName":"Ann"}]})");
  EXPECT_EQ(answered({"experiment", "pause", "1"}, master, token), "12\tmnist (ACTIVE)\n");
  EXPECT_EQ(answered({"trial", "describe", ""}, master, token),
            "40\tof experiment 12 (RUNNING)\n31\tof experiment 7 (ERROR)\n");
  EXPECT_EQ(answered({"user", "edit", "a"}, master, token), "ann\tAnn\n");
}

TEST(Completion, IsSilentWithoutATokenAndWithoutAMaster) {
  TestMaster master;
  const TemporaryDirectory home;
  EXPECT_EQ(answered({"experiment", "pause", ""}, master, {{"XDG_CONFIG_HOME", home.path()}}), "");
  EXPECT_TRUE(master.logins().empty());
  EXPECT_EQ(answered({"-m", "127.0.0.1:1", "experiment", "pause", ""}, master, {{"DET_USER_TOKEN", "t"}}),
            "");
}

TEST(Completion, SkipsTheOptionsOfTheProgram) {
  EXPECT_THAT(offered({"-m", "host:8080", "-u", "ann", "tria"}), ElementsAre("trial"));
  EXPECT_THAT(offered({"--m"}), ElementsAre("--master"));
}

TEST(Completion, TheProgramAnswersItsOwnScripts) {
  const TestMaster master;
  const auto asked = run_words({"complete-words", "experiment", "wat"}, {});
  EXPECT_EQ(asked.code, 0);
  EXPECT_THAT(asked.out, HasSubstr("watch\t"));
  for (const auto* shell : {"bash", "zsh", "fish"})
    EXPECT_THAT(run_words({"completion", shell}, {}).out, HasSubstr("det complete-words")) << shell;
  EXPECT_EQ(run_words({"completion", "tcsh"}, {}).code, 2);
  EXPECT_THAT(run_words({"completion", "tcsh"}, {}).err,
              HasSubstr("shell is 'tcsh'; it must be bash, zsh or fish"));
  EXPECT_TRUE(master.asked().empty());
}

}  // namespace
}  // namespace det::cli::test
