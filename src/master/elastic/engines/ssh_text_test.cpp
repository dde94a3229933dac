#include "det/master/elastic/engines/ssh_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "det/master/elastic/run_program.h"

namespace det::master {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const PilotSettings kSshPilot{
    .master_url = "http://desk:8080", .certificate = {}, .certificate_name = {}, .log_dir = "/logs"};
const EngineRequest kSshRequest{.name = "det-3f2a1b77-17", .id = "17", .nodes = 2, .token = "SE'CRET"};

TEST(SshText, OptionsOfThePoolComeBeforeOursAndNothingSecretIsAWord) {
  ProviderSettings settings;
  settings.ssh_options = {"-o", "ConnectTimeout=60", "-F", "/etc/det/ssh_config"};
  const auto text = fmt::format("{}", fmt::join(ssh_words(settings, "ada@box1"), " "));
  EXPECT_THAT(text, AllOf(HasSubstr("ssh -T -o ConnectTimeout=60 -F /etc/det/ssh_config -o BatchMode=yes"),
                          HasSubstr("-- ada@box1 /bin/sh -s")));
}

TEST(SshText, TheScriptOfAStartWritesNoSecretIntoAFile) {
  ProviderSettings settings;
  const auto script = ssh_start_script(settings, kSshPilot, kSshRequest, 1, "1.0-abc");
  const auto file = script.substr(script.find("<<'END_OF_PILOT'"),
                                  script.rfind("END_OF_PILOT") - script.find("<<'END_OF_PILOT'"));
  EXPECT_THAT(file, AllOf(HasSubstr("exec 'bin/det' agent --pilot '17'"), HasSubstr("--node 1 --python-path"),
                          HasSubstr("cd \"$programs/1.0-abc\""), Not(HasSubstr("CRET"))));
  EXPECT_THAT(script, HasSubstr("DET_PILOT_TOKEN='SE'\\''CRET'\n"));
  settings.program = "/opt/det";
  EXPECT_THAT(ssh_start_script(settings, kSshPilot, kSshRequest, 0, ""),
              AllOf(HasSubstr("exec '/opt/det' agent"), Not(HasSubstr("--python-path"))));
}

TEST(SshText, ReadsWhatAMachineRuns) {
  const auto pilots = read_ssh_pilots(
      "Welcome to box1\n"
      "det-x-1.0\trunning\t4711\t\n"
      "det-x-2.1\tended\t4712\tdet: no slots\n"
      "det-x-3.0\tended\t4713\t\n"
      "det-x-4.0\trestarted\t4714\t\n"
      "end\n");
  ASSERT_TRUE(pilots);
  EXPECT_THAT(
      *pilots,
      ::testing::ElementsAre(
          SshPilot{.name = "det-x-1", .node = 0, .pid = 4711, .running = true},
          SshPilot{.name = "det-x-2", .node = 1, .pid = 4712, .why = "the pilot ended: det: no slots"},
          SshPilot{.name = "det-x-3", .node = 0, .pid = 4713, .why = "the pilot ended"},
          SshPilot{.name = "det-x-4", .node = 0, .pid = 4714, .why = "the machine was restarted"}));
  EXPECT_EQ(read_ssh_pilots("This account is not available.\n").error().message(),
            "it answered 'This account is not available.'")
      << "an answer that was cut off counts for nothing";
}

TEST(SshText, PassesOnWhatSshSays) {
  struct Case {
    std::string text, words;
  };
  const std::vector<Case> cases = {
      {"ssh: connect to host box1 port 22: Connection refused\r\n",
       "connect to host box1 port 22: Connection refused"},
      {"ada@box1: Permission denied (publickey).\r\n", "ada@box1: Permission denied (publickey)."},
      {"No ED25519 host key is known for box1.\r\nHost key verification failed.\r\n",
       "Host key verification failed."},
      {"kex_exchange_identification: read: Connection reset by peer\r\nConnection closed by 10.0.0.1 port "
       "22\r\n",
       "kex_exchange_identification: read: Connection reset by peer"},
      {"Warning: Permanently added 'box1' to the list of known hosts.\r\n/bin/sh: mkdir: No space left on "
       "device\n",
       "/bin/sh: mkdir: No space left on device"},
  };
  for (const auto& c : cases) EXPECT_EQ(ssh_error(c.text), c.words);
}

/// The scripts as /bin/sh of this machine runs them.
class SshScripts : public ::testing::Test {
 protected:
  SshScripts() {
    std::filesystem::create_directories(home_);
    std::ofstream(home_ / "det") << "#!/bin/sh\necho started\nexec sleep 60\n";
    std::filesystem::permissions(home_ / "det", std::filesystem::perms::owner_all);
    settings_.program = (home_ / "det").string();
    settings_.work_dir = home_.string();
  }
  ~SshScripts() override {
    for (const auto& pilot : listed())
      if (pilot.running) ::kill(pilot.pid, SIGKILL);
    std::filesystem::remove_all(home_);
  }
  std::string sh(const std::string& script, int status = 0) {
    const auto end = run_program({"/bin/sh", "-s"}, script,
                                 {{"HOME", home_.string()}, {"XDG_STATE_HOME", ""}, {"XDG_CACHE_HOME", ""}});
    EXPECT_TRUE(end) << end.error().message();
    EXPECT_EQ(end->status, status) << end->err;
    return end->out;
  }
  std::vector<SshPilot> listed() { return read_ssh_pilots(sh(ssh_list_script())).value(); }
  std::string start(const std::string& copy = "") {
    return ssh_start_script(settings_, kSshPilot, kSshRequest, 0, copy);
  }
  const std::filesystem::path home_ =
      std::filesystem::path(::testing::TempDir()) / fmt::format("ssh{}", ::getpid());
  ProviderSettings settings_;
};

TEST_F(SshScripts, APilotIsStartedOnceAndFoundAgainUntilItEnds) {
  EXPECT_TRUE(listed().empty());
  const auto pid = std::stoi(sh(start()));
  EXPECT_EQ(std::stoi(sh(start())), pid) << "the answer to the first call may have been lost";
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed().at(0), (SshPilot{.name = "det-3f2a1b77-17", .node = 0, .pid = pid, .running = true}));
  sh(ssh_end_script(listed()));
  for (int i = 0; i < 200 && listed().at(0).running; ++i) ::usleep(10'000);
  EXPECT_FALSE(listed().at(0).running);
  EXPECT_EQ(listed().at(0).why, "the pilot ended: started");
}

TEST_F(SshScripts, AMachineRunsOnePilotAtATime) {
  sh(start());
  auto other = kSshRequest;
  other.name = "det-0a0a0a0a-3";
  EXPECT_EQ(sh(ssh_start_script(settings_, kSshPilot, other, 0, ""), kBusy), "det-3f2a1b77-17\n");
  EXPECT_EQ(listed().size(), 1u);
}

TEST_F(SshScripts, AMachineThatWasRestartedHasNoPilots) {
  const auto pid = std::stoi(sh(start()));
  const auto file = home_ / ".local/state/det/pilots/det-3f2a1b77-17.0.pid";
  std::ofstream(file) << pid << " 1 " << "another-boot";
  EXPECT_EQ(listed().at(0).why, "the machine was restarted");
  std::ofstream(file) << pid << " 1 " << "x";  // for the end of the test
  ::kill(pid, SIGKILL);
}

TEST_F(SshScripts, AMissingCopyOfTheProgramIsSaidAndCanBeBrought) {
  sh(start("1.0-abc"), kNotCopied);
  ASSERT_EQ(
      run_program({"/bin/sh", "-c",
                   fmt::format("mkdir '{0}/bin'; cp '{0}/det' '{0}/bin/'; tar -C '{0}' -czf '{0}/tar' bin",
                               home_.string())})
          ->status,
      0);
  std::ifstream tar(home_ / "tar", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(tar), {});
  const std::map<std::string, std::string> environment = {{"HOME", home_.string()}, {"XDG_CACHE_HOME", ""}};
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(run_program({"/bin/sh", "-c", ssh_copy_command("1.0-abc")}, bytes, environment)->status, 0);
  EXPECT_GT(std::stoi(sh(start("1.0-abc"))), 1);
  const auto end = run_program({"/bin/sh", "-c", ssh_copy_command("1.0-xyz")}, "garbage", environment);
  EXPECT_NE(end->status, 0);
}

}  // namespace
}  // namespace det::master
