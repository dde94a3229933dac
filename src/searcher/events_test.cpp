#include "det/searcher/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "det/searcher/state_file.h"

namespace det::searcher {
namespace {

using ::testing::HasSubstr;

/// Notes what it is told.
class Listener final : public SearchMethod {
 public:
  Operations initial_operations(const SearchState&) override { return heard("begin"); }
  Operations on_trial_created(const SearchState&, const std::string& id) override {
    return heard("created " + id);
  }
  Operations on_validation_completed(const SearchState&, const std::string& id, double metric,
                                     std::int64_t length) override {
    return heard(fmt::format("{} has {} after {}", id, metric, length));
  }
  Operations on_trial_closed(const SearchState&, const std::string& id) override {
    return heard("closed " + id);
  }
  Operations on_trial_exited_early(const SearchState&, const std::string& id, ExitedReason reason) override {
    return heard(fmt::format("{} left: {}", id, static_cast<int>(reason)));
  }
  double progress(const SearchState&) override { return 0; }
  json::value save() const override { return nullptr; }
  void load(const json::value&) override {}

  std::string last;

 private:
  Operations heard(std::string what) {
    last = std::move(what);
    return {Close{"t"}};
  }
};

std::vector<Event> events(const char* text) {
  return read_events(*json::parse(fmt::format(R"({{"searcherEvents":[{}]}})", text))).value();
}

TEST(Events, AreToldToTheMethodAndRememberedInTheState) {
  Listener method;
  SearchState state;
  const auto hear = [&](const char* text) {
    const auto said = tell(method, state, events(text).at(0));
    EXPECT_TRUE(said) << said.error().message();
    return method.last;
  };
  EXPECT_EQ(hear(R"({"id":"1","initialOperations":{}})"), "begin");
  EXPECT_EQ(hear(R"({"id":2,"trialCreated":{"requestId":"a"}})"), "created a");
  EXPECT_EQ(
      hear(R"({"id":3,"validationCompleted":{"requestId":"a","metric":"NaN","validateAfterLength":"20"}})"),
      "a has nan after 20");
  EXPECT_EQ(
      hear(R"({"id":4,"trialExitedEarly":{"requestId":"b","exitedReason":"EXITED_REASON_INVALID_HP"}})"),
      "b left: 2");
  EXPECT_EQ(hear(R"({"id":5,"trialClosed":{"requestId":"a"}})"), "closed a");
  hear(R"({"id":6,"trialProgress":{"requestId":"a","partialUnits":7.5}})");
  EXPECT_EQ(method.last, "closed a") << "of progress only the state knows";
  EXPECT_EQ(state.trial_progress, (std::map<std::string, double>{{"a", 7.5}}));
  EXPECT_EQ(state.trials_created, (std::set<std::string>{"a"}));
  EXPECT_EQ(state.trials_closed, (std::set<std::string>{"a"}));
  EXPECT_EQ(state.failures, (std::set<std::string>{"b"}));
}

TEST(Events, OnlyAnEndIsTheEnd) {
  EXPECT_EQ(events(R"({"id":1,"experimentInactive":{"experimentState":"STATE_PAUSED"}})")[0].ended(), "");
  EXPECT_EQ(events(R"({"id":1,"experimentInactive":{"experimentState":"STATE_ERROR"}})")[0].ended(), "ERROR");
}

TEST(Events, WhatIsNoneIsRefusedInWords) {
  for (const auto* text :
       {"{}", "[]", R"({"searcherEvents":[{"id":1}]})", R"({"searcherEvents":[{"x":{}}]})"})
    EXPECT_FALSE(read_events(*json::parse(text))) << text;
  Listener method;
  SearchState state;
  const auto said = tell(method, state, events(R"({"id":1,"trialMoved":{}})")[0]);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().message(), "the master sent the event trialMoved, which this version does not know");
}

TEST(Operations, AreWrittenAsTheMasterReadsThem) {
  const auto text = [](const Operation& operation) { return json::serialize(to_json(operation)); };
  EXPECT_EQ(text(Create{"a", {{"lr", 0.5}}}),
            R"({"createTrial":{"requestId":"a","hyperparams":"{\"lr\":0.5}"}})");
  EXPECT_EQ(text(Create{"a", {}, "u-1"}),
            R"({"createTrial":{"requestId":"a","hyperparams":"{}","checkpointUuid":"u-1"}})");
  EXPECT_EQ(text(ValidateAfter{"a", 5}),
            R"({"trialOperation":{"validateAfter":{"requestId":"a","length":5}}})");
  EXPECT_EQ(text(Close{"a"}), R"({"closeTrial":{"requestId":"a"}})");
  EXPECT_EQ(text(Shutdown{.failure = true}), R"({"shutDown":{"cancel":false,"failure":true}})");
  EXPECT_EQ(json::serialize(progress_json(std::nan(""))), json::serialize(progress_json(0)));
  EXPECT_NE(new_request_id(), new_request_id());
  EXPECT_EQ(new_request_id().size(), 36u);
}

TEST(StateFile, KeepsWhatWasWrittenLastForOneRunnerAtATime) {
  const auto directory = std::filesystem::temp_directory_path() / new_request_id();
  Saved saved{.mark = "# m",
              .searcher_state = {.experiment_id = 7},
              .pending = {json::object{{"a", 1}}},
              .method = 5};
  saved.searcher_state.trial_progress["a"] = 0.5;
  {
    const auto one = StateFile::open(directory);
    ASSERT_TRUE(one);
    const auto second = StateFile::open(directory);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message(), HasSubstr("another search runner uses the directory"));
    EXPECT_FALSE(one->read().value());
    EXPECT_TRUE(one->write({}));
    EXPECT_TRUE(one->write(saved));
  }
  const auto again = StateFile::open(directory);
  ASSERT_TRUE(again);
  const auto found = again->read().value();
  ASSERT_TRUE(found);
  EXPECT_EQ(json::to_json(*found), json::to_json(saved));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace det::searcher
