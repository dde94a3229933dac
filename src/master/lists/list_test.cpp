// Finding experiments, over HTTP.

#include "det/master/testing.h"

namespace det::master {
namespace {

class ListTest : public testing::MasterTest {
 protected:
  std::vector<std::int64_t> found(const std::string& query) {
    const auto answer = call(user_, "GET", "/api/v1/experiments?" + query);
    EXPECT_EQ(answer.status, 200) << answer.text;
    std::vector<std::int64_t> ids;
    for (const auto& item : answer.body.at("experiments").get_array())
      ids.push_back(*json::to_int64(item.at("id")));
    return ids;
  }
};

using Ids = std::vector<std::int64_t>;

TEST_F(ListTest, AnExperimentIsFoundByItsNumberNameDescriptionLabelAndUser) {
  const auto a = submit("description: first steps\nlabels: [vision]\n");
  const auto b = submit("description: second\nlabels: [language]\n");
  EXPECT_EQ(found(fmt::format("search={}", a)), Ids{a});
  EXPECT_EQ(found(fmt::format("search=%23{}", b)), Ids{b});
  EXPECT_EQ(found("search=TESTED&sortBy=SORT_BY_ID"), (Ids{a, b}));
  EXPECT_EQ(found("search=steps"), Ids{a});
  EXPECT_EQ(found("search=langu"), Ids{b});
  EXPECT_EQ(found("search=tested+second"), Ids{b});
  EXPECT_EQ(found("search=determined&sortBy=SORT_BY_ID"), (Ids{a, b}));
  EXPECT_EQ(found("search=admin"), Ids{});
}

TEST_F(ListTest, IdsHaveBoundsAndMayBeNamed) {
  const auto a = submit(""), b = submit(""), c = submit("");
  EXPECT_EQ(found(fmt::format("experimentIdFilter.gte={}&experimentIdFilter.lt={}", a, c)), (Ids{a, b}));
  EXPECT_EQ(found(fmt::format("experiment_id_filter.gt={}&experiment_id_filter.lte={}", a, c)), (Ids{b, c}));
  EXPECT_EQ(found(fmt::format("experimentIdFilter.incl={}&experimentIdFilter.incl={}", a, c)), (Ids{a, c}));
  EXPECT_EQ(found(fmt::format("experimentIdFilter.notIn={}&experimentIdFilter.gt={}", b, a)), Ids{c});
  EXPECT_EQ(found("experimentIdFilter.gt=9223372036854775807"), Ids{});
}

TEST_F(ListTest, WhatIsNoNameOfAnEnumerationIsRefusedAndNamed) {
  const auto id = submit("");
  for (const auto& path :
       {std::string("/api/v1/experiments"), fmt::format("/api/v1/experiments/{}/trials", id),
        fmt::format("/api/v1/experiments/{}/checkpoints", id)}) {
    const auto order = call(user_, "GET", path + "?orderBy=DOWN");
    EXPECT_EQ(order.status, 400) << path;
    EXPECT_NE(order.text.find("orderBy is 'DOWN'"), std::string::npos) << order.text;
    const auto sort = call(user_, "GET", path + "?sortBy=TIME&sortByAttr=TIME");
    EXPECT_EQ(sort.status, 400) << path;
    EXPECT_NE(sort.text.find("sortBy is 'TIME'"), std::string::npos) << sort.text;
  }
  const auto state = call(user_, "GET", fmt::format("/api/v1/experiments/{}/checkpoints?states=DONE", id));
  EXPECT_NE(state.text.find("'DONE' is not a state"), std::string::npos) << state.text;
  const auto old =
      call(user_, "GET", fmt::format("/api/v1/experiments/{}/checkpoints?states=2&order_by=2", id));
  EXPECT_EQ(old.status, 200) << "numbers of names, which clients of 2020 send";
  EXPECT_EQ(found("states=STATE_UNSPECIFIED"), Ids{id});
  EXPECT_EQ(found("states=STATE_UNSPECIFIED&states=STATE_PAUSED"), Ids{});
  for (const auto* kind : {"trials", "checkpoints"}) {
    const auto all = fmt::format("/api/v1/experiments/{}/{}", id, kind);
    EXPECT_EQ(call(user_, "GET", all + "?states=STATE_UNSPECIFIED").body.at("pagination"),
              call(user_, "GET", all).body.at("pagination"));
  }
  EXPECT_EQ(found("sortBy=SORT_BY_WHAT_A_LATER_VERSION_KNOWS&orderBy=ORDER_BY_UNSPECIFIED"), Ids{id});
}

TEST_F(ListTest, BatchesOfTheOlderProfilerAreRefusedAsUnimplemented) {
  const auto refused = call(user_, "POST", "/api/v1/trials/profiler/metrics", R"({"batches": []})");
  EXPECT_EQ(refused.status, 501);
  EXPECT_NE(refused.text.find("core.ProfilerContext"), std::string::npos) << refused.text;
}

TEST_F(ListTest, AnEntryHasItsConfigurationUnlessItIsOmitted) {
  const auto id = submit("description: whole\n");
  const auto one = call(user_, "GET", fmt::format("/api/v1/experiments/{}", id)).body.at("experiment");
  const auto whole = call(user_, "GET", "/api/v1/experiments").body.at("experiments").at(0);
  for (const auto* name : {"config", "originalConfig", "hyperparameters"})
    EXPECT_EQ(whole.at(name), one.at(name)) << name;
  EXPECT_EQ(whole.at("config").at("description"), "whole");
  const auto omitted = call(user_, "GET", "/api/v1/experiments?omitConfig=true").body.at("experiments").at(0);
  EXPECT_TRUE(omitted.at("config").is_null()) << json::serialize(omitted);
}

TEST_F(ListTest, ExperimentsAndRunsAreFoundByAnExpression) {
  const auto a = submit("labels: [vision]\ndescription: first\n"), b = submit("description: second\n");
  for (const auto* act : {"kill", "archive"})
    EXPECT_EQ(call(user_, "POST", fmt::format("/api/v1/experiments/{}/{}", b, act)).status, 200) << act;
  const auto matching = [&](const std::string& query, const char* path, const char* list) {
    const auto answer = call(user_, "POST", path, json::value{{"query", query}, {"sort", "id=asc"}});
    EXPECT_EQ(answer.status, 200) << answer.text;
    Ids ids;
    for (const auto& item : answer.body.at(list).get_array())
      ids.push_back(*json::to_int64(item.at("experiment").at("id")));
    return ids;
  };
  const auto experiments = [&](const std::string& query) {
    return matching(query, "/api/v1/experiments-search", "experiments");
  };
  EXPECT_EQ(experiments("user = me and global_batch_size = 8"), Ids{a});
  EXPECT_EQ(experiments("global_batch_size > 8"), Ids{});
  EXPECT_EQ(experiments("archived = yes"), Ids{b});
  EXPECT_EQ(experiments("archived in (yes, no) and state in (active, canceled)"), (Ids{a, b}));
  EXPECT_EQ(experiments("state in (COMPLETED, ERROR)"), Ids{});
  EXPECT_EQ(experiments("label = vision or description = second"), Ids{a});
  EXPECT_EQ(experiments(fmt::format("id >= {} and not label = vision and archived = true", a)), Ids{b});
  EXPECT_EQ(matching("label = vision and global_batch_size < 9", "/api/v1/runs", "runs"), Ids{a});
  EXPECT_EQ(matching("description ~ second", "/api/v1/runs", "runs"), Ids{}) << "it is archived";
  const auto refused = call(user_, "POST", "/api/v1/experiments-search", json::object{{"query", "state = "}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.text.find("filter ends where a value is expected"), std::string::npos) << refused.text;
  const auto all =
      call(user_, "POST", "/api/v1/experiments-search", json::object()).body.at("experiments").at(0);
  EXPECT_EQ(all.at("experiment").at("hyperparameters").at("global_batch_size").at("val"), 8);
  EXPECT_TRUE(all.at("experiment").at("config").is_null());
  const auto whole = call(user_, "POST", "/api/v1/experiments-search", json::object{{"includeConfig", true}});
  const auto& config = whole.body.at("experiments").at(0).at("experiment").at("config");
  EXPECT_EQ(config.at("hyperparameters").at("global_batch_size").at("val"), 8) << whole.text;
}

TEST_F(ListTest, ExperimentsAreGroupedByAColumnAndAGroupIsListed) {
  const auto a = submit("labels: [vision]\n"), b = submit("labels: [language]\n"),
             c = submit("labels: [vision]\n");
  const auto groups = [&](const json::value& request) {
    return call(user_, "POST", "/api/v1/experiments-groups", request);
  };
  const auto answer =
      groups({{"groupBy", "tags"}, {"sort", "id=desc"}, {"columns", {"numTrials", "id", "name"}}});
  ASSERT_EQ(answer.status, 200) << answer.text;
  const auto& found = answer.body.at("groups").get_array();
  ASSERT_EQ(found.size(), 2u) << answer.text;
  EXPECT_EQ(found[0].at("value"), json::value(boost::json::array{"vision"}));
  EXPECT_EQ(found[0].at("count"), 2);
  ASSERT_EQ(found[0].at("aggregates").get_array().size(), 2u) << "a name is no number";
  EXPECT_EQ(found[0].at("aggregates").at(1).at("max").to_number<std::int64_t>(), c);
  const auto listed = [&](const json::value& value) {
    const json::value request{{"groupBy", "tags"}, {"groupValue", value}, {"sort", "id=asc"}};
    Ids ids;
    const auto reply = call(user_, "POST", "/api/v1/experiments-search", request);
    for (const auto& item : reply.body.at("experiments").get_array())
      ids.push_back(*json::to_int64(item.at("experiment").at("id")));
    return ids;
  };
  EXPECT_EQ(listed(found[0].at("value")), (Ids{a, c}));
  EXPECT_EQ(listed(found[1].at("value")), Ids{b});
  const auto by_batch = groups({{"groupBy", "hp.global_batch_size"}, {"query", "label = vision"}});
  EXPECT_EQ(by_batch.body.at("groups").at(0).at("value"), 8);
  EXPECT_EQ(by_batch.body.at("groups").at(0).at("count"), 2);
  EXPECT_EQ(by_batch.body.at("pagination").at("total"), 1);
  EXPECT_EQ(groups({{"groupBy", "a."}}).body.at("groups").at(0).at("value"), nullptr);
  EXPECT_EQ(groups(json::object()).status, 400);
}

TEST_F(ListTest, TrialsAreCountedFromTheEndToo) {
  const auto id = submit("searcher: {name: random, metric: m, max_length: {batches: 5}, max_trials: 3}\n");
  const auto answer = call(user_, "GET", fmt::format("/api/v1/experiments/{}/trials?offset=-2&limit=1", id));
  const auto& page = answer.body.at("pagination");
  EXPECT_EQ(answer.body.at("trials").get_array().size(), 1u);
  EXPECT_EQ(page.at("offset"), -2);
  EXPECT_EQ(page.at("startIndex"), 1);
  EXPECT_EQ(page.at("endIndex"), 2);
  EXPECT_EQ(page.at("total"), 3);
}

}  // namespace
}  // namespace det::master
