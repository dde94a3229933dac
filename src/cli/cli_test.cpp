#include "det/cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "det/cli/command.h"
#include "det/cli/test_master.h"
#include "det/version.h"

namespace det::cli {
namespace {

using test::det;
using test::run_words;
using test::TemporaryDirectory;
using test::TestMaster;
using ::testing::HasSubstr;

TEST(CommandLine, WithoutACommandIsAUsageError) {
  const auto outcome = run_words({}, {});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("det: no subcommand specified"));
}

TEST(CommandLine, PrintsItsVersion) {
  EXPECT_EQ(run_words({"--version"}, {}).out, "det " DET_VERSION "\n");
  EXPECT_EQ(run_words({"-v"}, {}).code, 0);
}

TEST(CommandLine, SuggestsTheCommandThatWasMeant) {
  const auto outcome = run_words({"experiment", "lsit"}, {});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("'lsit' is not a command of det experiment. Did you mean 'list'?"));
  EXPECT_THAT(run_words({"experimant"}, {}).err, HasSubstr("Did you mean 'experiment'?"));
  EXPECT_THAT(run_words({"xyzzy"}, {}).err, ::testing::Not(HasSubstr("Did you mean")));
}

TEST(CommandLine, SaysWhereGlobalFlagsGo) {
  const auto outcome = run_words({"e", "list", "-m", "host"}, {});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("-m goes before the command: det -m ... experiment list"));
}

TEST(CommandLine, RefusesFormsThatExcludeEachOther) {
  EXPECT_EQ(run_words({"e", "list", "--json", "--csv"}, {}).code, 2);
  EXPECT_EQ(run_words({"e", "create", "a.yaml", ".", "-f", "--paused"}, {}).code, 2);
  EXPECT_EQ(run_words({"trial", "download", "3"}, {}).code, 2);
}

TEST(CommandLine, HelpHasTheOptionsOfWhichOneIsRequired) {
  const auto help = run_words({"trial", "download", "--help"}, {}).out;
  for (const auto* option : {"--best", "--latest", "--uuid UUID"}) EXPECT_THAT(help, HasSubstr(option));
  EXPECT_EQ(help.find("--help"), help.rfind("--help"));
}

TEST(CommandLine, HelpBeforeACommandIsTheHelpOfThatCommand) {
  for (const auto& words :
       {std::vector<std::string>{"experiment", "create"}, {"experiment"}, {"cmd", "run"}}) {
    auto before = words, after = words;
    before.insert(before.begin(), "help");
    after.emplace_back("--help");
    EXPECT_EQ(run_words(before, {}).out, run_words(after, {}).out);
  }
  EXPECT_EQ(run_words({"e", "help", "list"}, {}).out, run_words({"e", "list", "--help"}, {}).out);
  const auto unknown = run_words({"help", "nosuch"}, {});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("'nosuch' is not a command of det"));
}

TEST(CommandLine, SaysWhatToDoInsteadOfGroupsThatAreNotThere) {
  for (const auto& [word, instead] : {std::pair{"deploy", "'det up'"},
                                      {"d", "'det up'"},
                                      {"auth", "'det user login"},
                                      {"oauth", "'det user login"}}) {
    const auto outcome = run_words({word, "local"}, {});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(std::string("det: '") + word + "' does not exist here"));
    EXPECT_THAT(outcome.err, HasSubstr(instead));
    EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("Did you mean")));
  }
}

TEST(CommandLine, FailsWhereItsOutputCannotBeWritten) {
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  Console console({.out = out, .err = err, .read_line = {}});
  EXPECT_EQ(run({"--version"}, console, {}), 1);
  EXPECT_THAT(err.str(), HasSubstr("standard output is full or closed"));
}

// Every command can be defined, says what it does, and has a help text.
void check_help(const Command& command, std::vector<std::string> words) {
  EXPECT_FALSE(command.help.empty());
  words.push_back("--help");
  const auto outcome = run_words(words, {});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("usage: det")) << words.back();
  words.pop_back();
  std::set<std::string> names;
  for (const auto& child : command.children) {
    for (const auto& name : child.names) EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    words.push_back(child.names.back());
    check_help(child, words);
    words.pop_back();
  }
}

TEST(CommandLine, HasHelpForEveryCommandUnderEveryName) {
  check_help(root_command(), {});
}

TEST(CommandLine, HandsTheArgumentsOfTheProgramsCommandsOn) {
  std::vector<std::string> given;
  const std::vector<ExtraCommand> extra = {{"up", "start a master",
                                            [&](auto arguments) {
                                              given = arguments;
                                              return 0;
                                            }},
                                           {"master", "start a master",
                                            [&](auto arguments) {
                                              given = arguments;
                                              return 5;
                                            }},
                                           {"shim", "internal", [](auto) { return 0; }, true}};
  std::ostringstream out, err;
  Console console({.out = out, .err = err, .read_line = {}});
  EXPECT_EQ(run({"up", "--port", "80", "-h"}, console, {}, extra), 0);
  EXPECT_EQ(given, (std::vector<std::string>{"--port", "80", "-h"}));
  EXPECT_EQ(run({"master"}, console, {}, extra), 5);
  EXPECT_EQ(run({"master", "--config", "x"}, console, {}, extra), 5);
  EXPECT_EQ(given, (std::vector<std::string>{"--config", "x"}));
  for (const auto* help : {"help", "--help", "-h"}) {
    out.str("");
    EXPECT_EQ(run({"master", help}, console, {}, extra), 5);
    EXPECT_EQ(given, std::vector<std::string>{"--help"});
    EXPECT_THAT(out.str(), HasSubstr("cluster-message"));
  }
  EXPECT_EQ(run({"master", "start"}, console, {}, extra), 2);
  EXPECT_THAT(err.str(), HasSubstr("'start' is not a command of det master"));
  out.str("");
  EXPECT_EQ(run({"master", "info", "--help"}, console, {}, extra), 0);
  EXPECT_THAT(out.str(), HasSubstr("usage: det master info"));
  out.str("");
  EXPECT_EQ(run({"--help"}, console, {}, extra), 0);
  EXPECT_THAT(out.str(), HasSubstr("start a master; show the state"));
  EXPECT_THAT(out.str(), ::testing::Not(HasSubstr("shim")));
}

TEST(Master, ThatIsNotThereGetsAHint) {
  const TemporaryDirectory home;
  const auto outcome = run_words({"-m", "127.0.0.1:1", "e", "list"}, {{"XDG_CONFIG_HOME", home.path()}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("Master not found at http://127.0.0.1:1. Hint: Remember to set the "
                                     "DET_MASTER environment variable to the "
                                     "correct Determined master IP or use the '-m' flag."));
  EXPECT_THAT(outcome.err, HasSubstr("det up"));
  EXPECT_THAT(outcome.err, HasSubstr("Failed to list experiments: "));
}

TEST(Master, IsFoundThroughAnyOfItsNames) {
  TestMaster master;
  const TemporaryDirectory home;
  for (const auto* name : {"DET_MASTER", "DET_MASTER_ADDR", "DETERMINED_MASTER"})
    EXPECT_EQ(run_words({"user", "whoami"}, {{name, master.url()}, {"XDG_CONFIG_HOME", home.path()}}).code, 0)
        << name;
  EXPECT_EQ(run_words({"-m", master.url(), "user", "whoami"},
                      {{"DET_MASTER", "nowhere:1"}, {"XDG_CONFIG_HOME", home.path()}})
                .code,
            0);
  EXPECT_EQ(
      run_words({"--master=" + master.url(), "user", "whoami"}, {{"XDG_CONFIG_HOME", home.path()}}).code, 0);
}

TEST(Master, WhosePortIsNoNumberIsNotAskedOnAnother) {
  for (const auto* address : {"127.0.0.1:abc", "http://127.0.0.1:abc", "127.0.0.1:80x"}) {
    const auto outcome = run_words({"-m", address, "e", "list"}, {});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err,
                HasSubstr(std::string("invalid master URL \"") + address + "\"; its port must be a number"));
  }
}

TEST(Master, IsAskedInTheOpenWithDetDebug) {
  TestMaster master;
  master.refuse("GET /api/v1/agents", 404, "no such call");
  const auto outcome = det("agent list", master, {.variables = {{"DET_DEBUG", "1"}}});
  EXPECT_THAT(outcome.err, HasSubstr("debug: GET " + master.url() + "/api/v1/agents: 404 after "));
  EXPECT_THAT(det("agent list", master).err, ::testing::Not(HasSubstr("debug:")));
}

TEST(Master, OfAnotherVersionGetsAWarning) {
  TestMaster master;
  master.set_version("999.0.0");
  EXPECT_EQ(det("user whoami", master).err,
            "CLI version " DET_VERSION " is less than master version 999.0.0. Consider upgrading the CLI.\n");
  master.set_version("0.0.1");
  EXPECT_THAT(det("user whoami", master).err, HasSubstr("Consider upgrading the master."));
}

TEST(Master, ThatIsBusyIsAskedAgain) {
  TestMaster master;
  master.refuse("GET /api/v1/agents", 503, "starting");
  master.answer("GET /api/v1/agents", R"({"agents":[]})");
  EXPECT_EQ(det("agent list", master).code, 0);
}

TEST(Errors, NameTheCommandAndWhatTheMasterSaid) {
  TestMaster master;
  master.refuse("POST /api/v1/experiments/9/pause", 404, "experiment '9' not found");
  const auto outcome = det("e pause 9", master);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "Failed to pause experiment: experiment '9' not found\n");
  EXPECT_EQ(det("e pause 9", master, {.tty = true}).err,
            "\x1b[31mFailed to pause experiment: experiment '9' not found\x1b[0m\n");
}

TEST(Agents, AreListedWithTheirSlots) {
  TestMaster master;
  master.answer("GET /api/v1/agents",
                R"({"agents":[{"id":"a1","version":"0.1.0","registeredTime":"2026-01-02T03:04:05Z",
      "resourcePools":["default"],"enabled":true,"draining":false,"addresses":["127.0.0.1"],"containers":{},
      "slots":{"/agents/a1/slots/1":{"id":"1","enabled":true,"draining":false,"container":null,"device":{"type":"TYPE_CPU","brand":"x86"}},
               "/agents/a1/slots/0":{"id":"0","enabled":true,"draining":false,"container":{"id":"c1"},"device":{"type":"TYPE_CPU","brand":"x86"}}}}]})");
  master.answer(
      "GET /api/v1/tasks",
      R"({"allocationIdToSummary":{"7.x.1":{"allocationId":"7.x.1","name":"Trial 1","resources":[{"containerId":"c1"}]}}})");
  EXPECT_EQ(det("a --csv", master).out,
            "Agent ID,Version,Registered Time,Slots,Containers,Resource Pool,Enabled,Draining,Addresses\r\n"
            "a1,0.1.0,2026-01-02 03:04:05+0000,2,0,default,True,False,127.0.0.1\r\n");
  EXPECT_EQ(det("slot list --csv", master).out,
            "Agent ID,Resource Pool,Slot ID,Enabled,Draining,Allocation ID,Task Name,Type,Device\r\n"
            "a1,default,0,True,False,7.x.1,Trial 1,CPU,x86\r\n"
            "a1,default,1,True,False,FREE,None,CPU,x86\r\n");
}

TEST(Agents, AreEnabledOneByOneOrAllTogether) {
  TestMaster master;
  master.answer("GET /api/v1/agents", R"({"agents":[{"id":"a1"},{"id":"a2"}]})");
  master.answer("POST /api/v1/agents/a1/enable", "{}");
  master.answer("POST /api/v1/agents/a2/enable", "{}");
  master.answer("POST /api/v1/agents/a1/disable", "{}");
  master.answer("POST /api/v1/agents/a1/slots/0/disable", "{}");
  EXPECT_EQ(det("agent enable --all", master).out, "Enabled agent a1\nEnabled agent a2\n");
  EXPECT_EQ(det("agent disable a1 --drain", master).out, "Disabled agent a1\n");
  EXPECT_EQ(master.last_body("POST /api/v1/agents/a1/disable"), json::parse(R"({"drain":true})").value());
  EXPECT_EQ(det("slot disable a1 0", master).out, "Disabled slot 0 of agent a1\n");
  const auto neither = det("agent enable", master);
  EXPECT_EQ(neither.code, 1);
  EXPECT_EQ(neither.err, "Error: must specify exactly one of --all or agent_id\n");
}

TEST(Templates, AreCreatedOrReplacedBySet) {
  TestMaster master;
  const TemporaryDirectory directory;
  const auto file = directory.write("t.yaml", "resources:\n  slots_per_trial: 2\n");
  master.refuse("GET /api/v1/templates/small", 404, "template 'small' not found");
  master.answer("GET /api/v1/templates/small",
                R"({"template":{"name":"small","config":{"resources":{"slots_per_trial":2}}}})");
  master.answer("POST /api/v1/templates/small", "{}");
  master.answer("PATCH /api/v1/templates/small", "{}");
  EXPECT_EQ(det("template set small " + file, master).out, "Set template small\n");
  EXPECT_EQ(master.last_body("POST /api/v1/templates/small").at("config"),
            json::parse(R"({"resources":{"slots_per_trial":2}})").value());
  EXPECT_EQ(det("tpl set small " + file, master).code, 0);
  EXPECT_EQ(master.last_body("PATCH /api/v1/templates/small"),
            json::parse(R"({"resources":{"slots_per_trial":2}})").value());
  EXPECT_EQ(det("tpl describe small", master).out, "resources:\n  slots_per_trial: 2\n");
}

TEST(Users, AreListedPageByPage) {
  TestMaster master;
  master.answer(
      "GET /api/v1/users",
      R"({"users":[{"id":1,"username":"admin","admin":true,"active":true}],"pagination":{"total":2}})");
  master.answer(
      "GET /api/v1/users",
      R"({"users":[{"id":2,"username":"determined","admin":false,"active":true}],"pagination":{"total":2}})");
  EXPECT_EQ(det("u ls --json", master).out,
            "[\n  {\n    \"id\": 1,\n    \"username\": \"admin\",\n    \"admin\": true,\n    \"active\": "
            "true\n  },\n"
            "  {\n    \"id\": 2,\n    \"username\": \"determined\",\n    \"admin\": false,\n    \"active\": "
            "true\n  }\n]\n");
  EXPECT_EQ(master.asked(), (std::vector<std::string>{"GET /api/v1/users?active=true&limit=500&offset=0",
                                                      "GET /api/v1/users?active=true&limit=500&offset=1"}));
}

TEST(Users, ChangeTheirPasswordOnlyWhenItIsTypedTwice) {
  TestMaster master;
  master.answer("GET /api/v1/users/bob/by-username", R"({"user":{"id":3}})");
  master.answer("PATCH /api/v1/users/3", "{}");
  const auto mismatch = det("user change-password bob", master, {.typed = {"one", "two"}});
  EXPECT_EQ(mismatch.code, 1);
  EXPECT_THAT(mismatch.err, HasSubstr("Passwords do not match"));
  EXPECT_EQ(det("user change-password bob", master, {.typed = {"wonderland", "wonderland"}}).code, 0);
  EXPECT_EQ(master.last_body("PATCH /api/v1/users/3").at("password"), password_hash("wonderland").c_str());
}

TEST(Jobs, AreShownInTheOrderOfTheQueue) {
  TestMaster master;
  master.answer("GET /api/v1/resource-pools",
                R"({"resourcePools":[{"name":"aux"},{"name":"gpu","defaultComputePool":true}]})");
  master.answer("GET /api/v1/job-queues-v2",
                R"({"jobs":[{"full":{"jobId":"j1","type":"TYPE_EXPERIMENT","name":"n","priority":42,
      "submissionTime":"2026-01-02T03:04:05Z","allocatedSlots":1,"requestedSlots":2,"summary":{"jobsAhead":0,"state":"STATE_SCHEDULED"},
      "username":"determined"}}],"pagination":{"total":1}})");
  EXPECT_EQ(det("job list --csv", master).out,
            "#,ID,Type,Job Name,Priority or Weight,Submitted,Slots (acquired/needed),State,User\r\n"
            "0,j1,EXPERIMENT,n,42,2026-01-02 03:04:05+0000,1/2,SCHEDULED,determined\r\n");
  EXPECT_EQ(master.asked()[1],
            "GET /api/v1/job-queues-v2?resourcePool=gpu&orderBy=ORDER_BY_ASC&limit=100&offset=0");
}

TEST(PreviewSearch, ShowsHowManyTrialsTrainHowLong) {
  TestMaster master;
  const TemporaryDirectory directory;
  master.answer("POST /api/v1/preview-hp-search", R"({"summary":{"config":{},"trials":[
      {"count":5,"unit":{"name":"batches","value":100,"maxLength":false}},{"count":2,"unit":{"maxLength":true}}]}})");
  EXPECT_EQ(
      det("preview-search " + directory.write("a.yaml", "searcher:\n  name: adaptive_asha\n"), master).out,
      "Using search configuration:\nname: adaptive_asha\n\nThis search will create a total of 7 trial(s).\n"
      "   Trials | Training Time\n"
      "----------+-----------------------\n"
      "        5 | train for 100 batches\n"
      "        2 | train to completion\n");
  EXPECT_TRUE(
      det("preview-search --plot " + directory.write("a.yaml", "searcher:\n  name: adaptive_asha\n"), master)
          .out.ends_with("\ntrain for 100 batches ████████████████████████████████████████ 5\n"
                         "train to completion   ████████████████ 2\n"));
  const auto without = det("preview-search " + directory.write("b.yaml", "name: x\n"), master);
  EXPECT_EQ(without.code, 1);
  EXPECT_EQ(without.err, "Experiment configuration must have 'searcher' section\n");
}

TEST(PreviewSearch, ShowsWhereTrialsOfOlderFormsValidate) {
  TestMaster master;
  const TemporaryDirectory directory;
  const auto config = directory.write("a.yaml", "searcher:\n  name: adaptive_asha\n");
  master.answer("POST /api/v1/preview-hp-search", R"({"summary":{"config":{},
      "trials":[{"count":5,"unit":{"name":"batches","value":100,"maxLength":false}},
                {"count":4,"unit":{"name":"batches","value":300,"maxLength":false}}],
      "breakdown":{"unit":"batches","trials":[{"count":5,"lengths":["100"]},{"count":2,"lengths":["100","300"]},
                                              {"count":2,"lengths":["300"]}]}}})");
  EXPECT_EQ(det("preview-search " + config, master).out,
            "Using search configuration:\nname: adaptive_asha\n\n"
            "This search will create a total of 9 trial(s).\n"
            "   Trials | Breakdown\n"
            "----------+---------------------------------\n"
            "        5 | train for 100 batches\n"
            "        2 | train for 100 batches, then 300\n"
            "        2 | train for 300 batches\n");
  TestMaster other;
  other.answer("POST /api/v1/preview-hp-search", R"({"summary":{"config":{},"trials":[],
      "breakdown":{"unit":"steps","trials":[{"count":12,"lengths":["4"]},{"count":3,"lengths":["4","16"]}]}}})");
  EXPECT_EQ(det("preview-search " + config, other).out,
            "Using search configuration:\nname: adaptive_asha\n\n"
            "This search will create a total of 15 trial(s) and run 96 steps\n"
            "   Trials |   Steps | Breakdown\n"
            "----------+---------+-----------------------------------------------------\n"
            "       12 |       4 | 4 x step, 1 x validation\n"
            "        3 |      16 | 4 x step, 1 x validation, 12 x step, 1 x validation\n");
}

TEST(Simulate, SaysWhatItCostsAndDrawsIt) {
  TestMaster master;
  const TemporaryDirectory directory;
  master.answer("POST /api/v1/simulate", R"({"agents":2,"policy":"fifo","curves":3,
      "costs":{"secondsPerBatch":0.1,"startSeconds":3,"validationSeconds":1,"checkpointSeconds":1},
      "forecast":{"slots":4,"end":100,"slotSeconds":200,"usage":[{"seconds":0,"slotsUsed":4,"waiting":2},
        {"seconds":50,"slotsUsed":0,"waiting":0}],"experiments":[{"name":"x","completed":true,"trials":5,"batches":300,
        "runs":6,"preemptions":1,"firstStart":0,"end":100,"slotSeconds":200,"waitMean":1,"waitMax":2,
        "rows":[{"trials":4,"batches":50},{"trials":1,"batches":100}]},{"name":"y","completed":false,
        "waitsFor":"too few slots"}]}})");
  const auto file = directory.write("a.yaml", "searcher:\n  name: random\n");
  const auto out =
      det("simulate --agents 2 --slots-per-agent 2 --from-experiment 7 --plot " + file, master).out;
  for (const auto* part : {"2 agents with 4 slots in total, policy fifo; 0.1 s per batch",
                           "Metrics follow the curves of the 3 trials of experiment 7",
                           "y never completes: too few slots", "the slots are in use for 50% of the time",
                           "used  |█ |", "          50 ████████████████████████████████████████ 4\n"})
    EXPECT_NE(out.find(part), std::string::npos) << part << "\n" << out;
  EXPECT_EQ(json::serialize(*master.last_body("POST /api/v1/simulate").as_object().if_contains("agents")),
            "2");
  EXPECT_EQ(json::parse(det("simulate --json " + file, master).out)->at("curves"), 3);
}

TEST(Version, IsShownWithAndWithoutAMaster) {
  TestMaster master;
  EXPECT_EQ(det("version", master).out,
            "client:\n  version: \"" DET_VERSION
            "\"\nmaster:\n  cluster_id: c\n  master_id: m\n  version: \"" DET_VERSION "\"\nmaster_address: " +
                master.url() + "\n");
  EXPECT_EQ(run_words({"-m", "127.0.0.1:1", "version"}, {}).code, 0);
}

}  // namespace
}  // namespace det::cli
