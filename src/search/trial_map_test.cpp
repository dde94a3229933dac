#include "det/search/trial_map.h"

#include <gtest/gtest.h>

namespace det::search {
namespace {

constexpr const char* kFirst = "677de5d8-09a4-446c-93de-a19f155159a5";
constexpr const char* kSecond = "e67daeca-274a-4acf-97a8-6587aec8df7a";

struct State {
  int rung = 0;
  std::optional<double> metric;
};
BOOST_DESCRIBE_STRUCT(State, (), (rung, metric))

TEST(TrialMap, FindsATrialByItsUuidAndByItsText) {
  TrialMap<State> trials;
  EXPECT_TRUE(trials.insert(RequestId(kFirst), {.rung = 3}));
  EXPECT_FALSE(trials.insert(RequestId(kFirst), {.rung = 4})) << "it stays as it is";
  EXPECT_EQ(trials.at(RequestId(kFirst)).rung, 3);
  EXPECT_EQ(trials.find(*parse_uuid(kFirst))->rung, 3);
  EXPECT_EQ(trials.find(RequestId(kSecond)), nullptr);
  EXPECT_EQ(trials.find(RequestId("nobody")), nullptr) << "what is no UUID names no trial";
  EXPECT_TRUE(trials.erase(RequestId(kFirst)));
  EXPECT_EQ(trials.size(), 0u);
}

TEST(TrialMap, IsSavedInTheOrderOfItsNamesAndReadAgain) {
  TrialMap<State> trials;
  trials.insert(RequestId(kSecond), {.rung = 1, .metric = 0.5});
  trials.insert(RequestId(kFirst), {.rung = 2});
  const auto saved = json::to_json(trials);
  EXPECT_EQ(json::serialize(saved), R"({"rung":[2,1],"metric":[null,0.5],"trial":[")" + std::string(kFirst) +
                                        R"(",")" + kSecond + R"("]})");
  const auto read = json::from_json<TrialMap<State>>(saved);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(json::to_json(*read), saved);
  const auto numbers = json::from_json<TrialMap<int>>(
      json::parse(R"({"value": [7], "trial": [")" + std::string(kFirst) + R"("]})").value());
  ASSERT_TRUE(numbers) << numbers.error().message();
  EXPECT_EQ(numbers->at(RequestId(kFirst)), 7);
}

TEST(TrialMap, ReadsTheObjectOfObjectsOfEarlierReleases) {
  const auto earlier =
      json::object{{kFirst, json::object{{"rung", 2}, {"metric", 1.5}}}, {kSecond, json::object{}}};
  const auto read = json::from_json<TrialMap<State>>(earlier);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->size(), 2u);
  EXPECT_EQ(read->at(RequestId(kFirst)).rung, 2);
  EXPECT_EQ(read->at(RequestId(kFirst)).metric, 1.5);
  EXPECT_EQ(json::from_json<TrialMap<State>>(json::object{})->size(), 0u);
  EXPECT_EQ(json::from_json<TrialMap<int>>(json::object{{kFirst, 7}})->at(RequestId(kFirst)), 7);
}

TEST(TrialMap, ATextThatIsNoneIsRefusedWithItsPlace) {
  const auto problem = [](const json::value& value) {
    const auto read = json::from_json<TrialMap<State>>(value);
    return read ? "" : read.error().message();
  };
  EXPECT_EQ(problem(7), "body: expected an object");
  EXPECT_EQ(problem(json::object{{"x", json::object{}}}), "body: has a key that is not an id");
  EXPECT_EQ(problem(json::object{{"trial", json::array{"x"}}}), "trial[0]: expected a UUID in lower case");
  EXPECT_EQ(problem(json::object{{"trial", json::array{kFirst, kFirst}}}), "trial: names a trial twice");
}

}  // namespace
}  // namespace det::search
