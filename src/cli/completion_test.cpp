// What a shell offers when Tab is pressed.

#include "det/cli/completion.h"

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

std::vector<std::string> offered(std::vector<std::string> words) {
  const std::vector<ExtraCommand> extra = {{"up", "Start a master", nullptr},
                                           {"shim", "for programs", nullptr, /*hidden=*/true}};
  std::vector<std::string> all;
  for (const auto& candidate : complete(root_command(), extra, std::move(words)))
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
  EXPECT_THAT(run_words({"completion", "tcsh"}, {}).err,
              HasSubstr("shell is 'tcsh'; must be bash, zsh or fish"));
  EXPECT_TRUE(master.asked().empty());
}

}  // namespace
}  // namespace det::cli::test
