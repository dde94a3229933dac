#include "det/master/elastic/engines/slurm_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::master {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const PilotSettings kPilot{
    .master_url = "https://login:8080", .certificate = "PEM", .certificate_name = {}, .log_dir = "/logs"};
const EngineRequest kRequest{.name = "det-3f2a1b77-17", .id = "17", .nodes = 2, .token = "SECRET"};

TEST(SlurmText, ARequestHasTheOptionsOfThePoolAndNothingSecret) {
  ProviderSettings settings{.time_limit = 5'400};
  settings.partition = "a100", settings.account = "proj42", settings.gres = "gpu:4";
  settings.extra = {"--exclusive"};
  const auto words = sbatch_words(settings, kPilot, kRequest);
  for (const auto* word : {"--job-name=det-3f2a1b77-17", "--nodes=2", "--partition=a100", "--account=proj42",
                           "--gres=gpu:4", "--time=90:00", "--exclusive", "--export=DET_PILOT_TOKEN",
                           "--signal=B:USR1@120", "--output=/logs/%x.log"})
    EXPECT_THAT(words, Contains(word));
  EXPECT_THAT(words, Not(Contains(HasSubstr("SECRET"))));
  EXPECT_THAT(words, Not(Contains(HasSubstr("--qos"))));
}

TEST(SlurmText, AJobOfOneTrialIsChargedToItsOwner) {
  ProviderSettings settings;
  settings.account = "group_{owner}", settings.extra = {"--wckey={owner}-{owner}", "--exclusive"};
  auto request = kRequest;
  request.task = "7.x", request.owner = "ada";
  const auto words = sbatch_words(settings, kPilot, request);
  for (const auto* word :
       {"--account=group_ada", "--wckey=ada-ada", "--exclusive", "--comment=det 7.x of ada"})
    EXPECT_THAT(words, Contains(word));
  EXPECT_THAT(sbatch_words(settings, kPilot, kRequest), Not(Contains(HasSubstr("--comment"))));
}

TEST(SlurmText, AJobIsSubmittedAsItsOwnerWhereTheSettingsSaySo) {
  ProviderSettings settings;
  EXPECT_EQ(as_owner(settings, "ada", {"sbatch", "-n1"}), (std::vector<std::string>{"sbatch", "-n1"}));
  settings.as_owner = {"sudo", "-n", "-u", "{owner}", "--"};
  EXPECT_EQ(as_owner(settings, "ada", {"sbatch"}),
            (std::vector<std::string>{"sudo", "-n", "-u", "ada", "--", "sbatch"}));
  for (const auto* fine : {"ada", "ada.l-2", "_x"}) EXPECT_TRUE(is_account(fine)) << fine;
  for (const auto* not_fine : {"", "root", "-x", "a b", "ada;reboot",
                               "\xc3\xa4"
                               "da"})
    EXPECT_FALSE(is_account(not_fine)) << not_fine;
  EXPECT_THAT(squeue_words(), Contains("--me"));
  EXPECT_THAT(squeue_words(true), Not(Contains("--me")));
}

TEST(SlurmText, TheScriptStartsAPilotOnEachNodeAndHasNothingSecret) {
  ProviderSettings settings;
  settings.program = "/opt/it's/det", settings.prologue = "module load cuda",
  settings.limits.slots_per_node = 4;
  const auto script = slurm_script(settings, kPilot, kRequest);
  EXPECT_THAT(script, ::testing::StartsWith("#!"));
  EXPECT_THAT(script, HasSubstr("module load cuda\n"));
  EXPECT_THAT(script, HasSubstr("exec '/opt/it'\\''s/det' agent --pilot '17' --master 'https://login:8080'"));
  EXPECT_THAT(script, HasSubstr("srun --ntasks-per-node=1 --kill-on-bad-exit=0 bash -s"));
  EXPECT_THAT(script, HasSubstr("PEM"));
  EXPECT_THAT(script, HasSubstr("--slots 4"));
  EXPECT_THAT(script, Not(HasSubstr("SECRET")));
  settings.gpus = true;
  EXPECT_THAT(slurm_script(settings, kPilot, kRequest), Not(HasSubstr("--slots")));
}

TEST(SlurmText, ReadsHowLongJobsOfAPartitionMayRun) {
  const std::string text =
      "PartitionName=main AllowGroups=ALL Default=YES DefaultTime=NONE MaxNodes=1 MaxTime=UNLIMITED "
      "State=UP\n"
      "PartitionName=short Default=NO DefaultTime=NONE MaxTime=00:01:00 State=UP\n"
      "PartitionName=long Default=NO DefaultTime=04:00:00 MaxTime=2-00:00:00 State=UP\n"
      "PartitionName=days Default=NO DefaultTime=NONE MaxTime=2-00:00:00 State=UP\n";
  EXPECT_EQ(partition_limit(text, ""), std::nullopt);
  EXPECT_EQ(partition_limit(text, "short"), 60);
  EXPECT_EQ(partition_limit(text, "long"), 4 * 3600);
  EXPECT_EQ(partition_limit(text, "days"), 2 * 86'400);
  EXPECT_EQ(partition_limit(text, "nope"), std::nullopt);
}

TEST(SlurmText, ReadsTheListOfJobs) {
  struct Case {
    std::string line;
    EngineJob::State state;
    std::string reason;
    std::optional<Time> ends;
  };
  using State = EngineJob::State;
  const std::vector<Case> cases = {
      {"7|PENDING|Priority|N/A", State::Pending, "job 7 is pending: Priority", {}},
      {"7|CONFIGURING|None|1800000000", State::Pending, "job 7 is configuring: None", {}},
      {"7|RUNNING|None|1800000000", State::Running, "job 7 is running", Time{1'800'000'000 * kSecond}},
      {"7|RUNNING|None|NONE", State::Running, "job 7 is running", {}},
      {"7|COMPLETING|None|1800000000", State::Ended, "job 7 ended: COMPLETING", {}},
      {"7|TIMEOUT|TimeLimit|1800000000", State::Ended, "job 7 ended: TIMEOUT (TimeLimit)", {}},
      {"7|NODE_FAIL|None|1800000000", State::Ended, "job 7 ended: NODE_FAIL", {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.line);
    auto line = c.line + "|1799999000|det-x-1|ada|\n8|RUNNING|None|NONE|NONE|another's|bob|\n";
    std::ranges::replace(line, '|', '\x1f');
    const auto jobs = read_squeue(line, "det-x-");
    ASSERT_TRUE(jobs);
    ASSERT_EQ(jobs->size(), 1u);
    EXPECT_EQ(jobs->front().id, "7");
    EXPECT_EQ(jobs->front().name, "det-x-1");
    EXPECT_EQ(jobs->front().user, "ada");
    EXPECT_EQ(jobs->front().state, c.state);
    EXPECT_EQ(jobs->front().reason, c.reason);
    EXPECT_EQ(jobs->front().ends, c.ends);
  }
  std::string limited = "7|RUNNING|None|1800000000|1799999000|det-x-1|ada|";
  std::ranges::replace(limited, '|', '\x1f');
  EXPECT_EQ(read_squeue(limited, "det-", 90)->front().ends, Time{1'799'999'090 * kSecond})
      << "Slurm rounds a limit up to whole minutes";
  EXPECT_TRUE(read_squeue("", "det-")->empty());
  EXPECT_FALSE(read_squeue("slurm says hello\n", "det-"));
}

TEST(SlurmText, PassesOnWhatSlurmSays) {
  EXPECT_EQ(slurm_error("sbatch: error: invalid partition specified: nope\n"
                        "sbatch: error: Batch job submission failed: Invalid partition name specified\n"),
            "Invalid partition name specified");
  EXPECT_EQ(slurm_error("Partition nope not found\n"), "Partition nope not found");
  EXPECT_EQ(slurm_error("sbatch: unrecognized option '--nope'\nTry \"sbatch --help\" for more information\n"),
            "sbatch: unrecognized option '--nope'");
  EXPECT_TRUE(is_slurm_silent("slurm_load_jobs error: Unable to contact slurm controller (connect failure)"));
  EXPECT_FALSE(is_slurm_silent("sbatch: error: Invalid account"));
}

}  // namespace
}  // namespace det::master
