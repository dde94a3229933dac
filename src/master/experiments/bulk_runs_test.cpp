// Actions on several runs at once, by their ids or by a filter.

#include "det/master/testing.h"

namespace det::master {
namespace {

class BulkRunsTest : public testing::MasterTest {
 protected:
  /// Their ids: of an experiment with one run, one with two, and another one with one.
  std::vector<std::int64_t> make_runs() {
    submit("description: ours\n");
    submit(
        "description: ours\nsearcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: "
        "10}}\n");
    submit("description: theirs\n");
    std::vector<std::int64_t> ids;
    for (const auto& task : sync("a", 4).desired) ids.push_back(task.trial_id.value());
    std::ranges::sort(ids);
    return ids;
  }
  /// What is answered for each run, "" for done, by its id.
  std::map<std::int64_t, std::string> act(const std::string& verb, json::object body) {
    const auto answer = call(user_, "POST", "/api/v1/runs/" + verb, body);
    EXPECT_EQ(answer.status, 200) << verb << answer.text;
    std::map<std::int64_t, std::string> results;
    if (answer.status != 200) return results;
    for (const auto& one : answer.body.at("results").as_array())
      results[*json::to_int64(one.at("id"))] = one.at("error").as_string();
    return results;
  }
  static json::object described_as(const char* name) {
    return {{"filter", fmt::format(R"({{"filterGroup":{{"kind":"group","conjunction":"and","children":[)"
                                   R"({{"kind":"field","columnName":"experimentDescription","operator":"=",)"
                                   R"("type":"COLUMN_TYPE_TEXT","value":"{}"}}]}},"showArchived":true}})",
                                   name)}};
  }
};

TEST_F(BulkRunsTest, EachIsAnsweredWithItsReason) {
  const auto runs = make_runs();
  ASSERT_EQ(runs.size(), 4u);
  const auto paused = act("pause", {{"runIds", {runs[0], runs[1], 99}}});
  EXPECT_EQ(paused.at(runs[0]), "");
  EXPECT_NE(paused.at(runs[1]).find("is one of 2 runs of experiment 2"), std::string::npos)
      << paused.at(runs[1]);
  EXPECT_EQ(paused.at(99), "run '99' not found");
  EXPECT_EQ(act("resume", {{"runIds", {runs[0]}}}).at(runs[0]), "");
  EXPECT_NE(act("archive", {{"runIds", {runs[0]}}}).at(runs[0]), "") << "it is not over";
  EXPECT_NE(act("delete", {{"runIds", {runs[0]}}}).at(runs[0]), "") << "it is not over";
}

TEST_F(BulkRunsTest, AreFoundByTheirStateWhichIsActiveWhateverTheyAreDoing) {
  const auto runs = make_runs();
  submit("description: waits\nresources: {slots_per_trial: 8}\n");
  ASSERT_EQ(act("pause", {{"runIds", {runs[0]}}}).at(runs[0]), "");
  ASSERT_EQ(act("kill", {{"runIds", {runs[1]}}}).at(runs[1]), "");
  const auto in_state = [&](const char* state) {
    const auto filter = fmt::format(
        R"({{"filterGroup":{{"kind":"group","conjunction":"and","children":[{{"kind":"field","columnName":"state",)"
        R"("operator":"=","type":"COLUMN_TYPE_TEXT","value":"{}"}}]}},"showArchived":true}})",
        state);
    const auto answer =
        call(user_, "POST", "/api/v1/runs", json::object{{"filter", filter}, {"sort", "id=asc"}});
    std::vector<std::int64_t> ids;
    for (const auto& run : answer.body.at("runs").as_array()) {
      ids.push_back(*json::to_int64(run.at("id")));
      EXPECT_EQ(run.at("state").as_string(), fmt::format("STATE_{}", state));
    }
    return ids;
  };
  EXPECT_EQ(in_state("ACTIVE").size(), 3u) << "one of them waits";
}

TEST_F(BulkRunsTest, AFilterChoosesThemAll) {
  const auto runs = make_runs();
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(act("pause", described_as("ours")).size(), 3u);
  auto without_searches = described_as("ours");
  without_searches["skipMultitrial"] = true;
  without_searches["destinationProjectId"] = 1;
  EXPECT_EQ(act("move", without_searches).size(), 1u) << "but not the runs of a search";
  const auto killed = act("kill", described_as("ours"));
  EXPECT_EQ(killed.size(), 3u);
  EXPECT_FALSE(killed.contains(runs[3])) << "theirs";
  for (const auto& [id, error] : killed) EXPECT_EQ(error, "") << id;
  EXPECT_TRUE(act("kill", described_as("nobody's")).empty());
  auto both = described_as("ours");
  both["runIds"] = json::array{runs[0]};
  EXPECT_EQ(call(user_, "POST", "/api/v1/runs/kill", both).status, 400);
  EXPECT_EQ(call(user_, "POST", "/api/v1/runs/kill", {{"filter", "{"}}).status, 400);
}

TEST_F(BulkRunsTest, AFilterLeavesOutWhatTheCallerDoesNotSee) {
  make_runs();
  make_user("stranger");
  authz_ = access::Mode::Rbac;
  restart();
  const auto answer = call(log_in("stranger"), "POST", "/api/v1/runs/kill", described_as("ours"));
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_TRUE(answer.body.at("results").as_array().empty()) << answer.text;
}

}  // namespace
}  // namespace det::master
