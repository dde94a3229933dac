#include "det/http/wire/wire.h"

#include <gtest/gtest.h>

#include "det/base/text.h"

namespace det::http {
namespace wire_test {

enum class State { STATE_ACTIVE, STATE_PAUSED };
BOOST_DESCRIBE_ENUM(State, STATE_ACTIVE, STATE_PAUSED)

struct Inner {
  std::int64_t total_batches = 0;
  double best_value = 0;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (total_batches, best_value))

struct Outer {
  TrialId trial_id;
  std::int32_t num_trials = 0;
  std::string display_name;
  bool is_open = false;
  State state = State::STATE_ACTIVE;
  Time start_time;
  std::optional<Time> end_time;
  std::vector<Inner> inner_items;
  std::map<std::string, std::int64_t> resource_sizes;
  json::object free_form;
  json::value any_value;
  std::optional<Inner> last_item;
};
BOOST_DESCRIBE_STRUCT(Outer, (),
                      (trial_id, num_trials, display_name, is_open, state, start_time, end_time, inner_items,
                       resource_sizes, free_form, any_value, last_item))

struct Strict {
  std::string user_name;
  static bool required(std::string_view name) { return name == "user_name"; }
};
BOOST_DESCRIBE_STRUCT(Strict, (), (user_name))

TEST(Wire, WritesTheDocumentedForm) {
  Outer outer;
  outer.trial_id = TrialId(7);
  outer.inner_items = {{19565, 0.5}, {1, std::numeric_limits<double>::quiet_NaN()}};
  outer.resource_sizes["state_dict.pth"] = 12;
  outer.free_form["learning_rate"] = json::object{{"snake_case", 1}};
  EXPECT_EQ(
      to_wire_text(outer),
      R"({"trialId":7,"numTrials":0,"displayName":"","isOpen":false,"state":"STATE_ACTIVE",)"
      R"("startTime":"1970-01-01T00:00:00Z",)"
      R"("innerItems":[{"totalBatches":"19565","bestValue":0.5},{"totalBatches":"1","bestValue":"NaN"}],)"
      R"("resourceSizes":{"state_dict.pth":"12"},"freeForm":{"learning_rate":{"snake_case":1}},"anyValue":null})");
}

struct File {
  std::string file_name;
  std::vector<File> its_files;
  static constexpr bool kSnakeCase = true;
};
BOOST_DESCRIBE_STRUCT(File, (), (file_name, its_files))
struct Forms {
  Nullable<Inner> inner;
  std::optional<Nullable<double>> bytes;
  Documented<File> file;
};
BOOST_DESCRIBE_STRUCT(Forms, (), (inner, bytes, file))

TEST(Wire, ANullableMemberIsNullAndADocumentedOneStaysAsItCame) {
  Forms forms;
  EXPECT_EQ(to_wire_text(forms), R"({"inner":null,"file":{}})");
  forms.inner = Inner{.total_batches = 3, .best_value = 0.5};
  forms.bytes.emplace();
  forms.file = {{{"file_name", 7}, {"more", "than described"}}};
  const auto text = to_wire_text(forms);
  EXPECT_EQ(text, R"({"inner":{"totalBatches":"3","bestValue":0.5},"bytes":null,)"
                  R"("file":{"file_name":7,"more":"than described"}})");
  const auto read = from_wire_text<Forms>(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->inner->total_batches, 3);
  EXPECT_EQ(read->file.value, forms.file.value);
  EXPECT_FALSE(from_wire_text<Forms>(R"({"inner":null})")->inner);
  EXPECT_FALSE(from_wire_text<Forms>(R"({"file":3})"));
}

TEST(Wire, TheSchemaOfADocumentedMemberIsThatOfItsForm) {
  Schemas schemas;
  schema_of<Forms, Way::Writes>(schemas);
  const auto components = schemas.components();
  EXPECT_EQ(components.at("Forms"), json::parse(R"({"type":"object","properties":{
    "inner":{"allOf":[{"$ref":"#/components/schemas/Inner"}],"nullable":true},
    "bytes":{"type":"number","format":"double","nullable":true},
    "file":{"$ref":"#/components/schemas/File"}},"required":["inner","file"]})"));
  EXPECT_EQ(components.at("File"), json::parse(R"({"type":"object","properties":{
    "file_name":{"type":"string"},
    "its_files":{"type":"array","items":{"$ref":"#/components/schemas/File"}}},
    "required":["file_name","its_files"]})"));
}

TEST(Wire, ReadsBothSpellingsAndBothFormsOfIntegers) {
  const auto camel =
      from_wire_text<Outer>(R"({"trialId":"7","numTrials":3,"innerItems":[{"totalBatches":"12"}]})");
  const auto snake =
      from_wire_text<Outer>(R"({"trial_id":7,"num_trials":"3","inner_items":[{"total_batches":12}]})");
  ASSERT_TRUE(camel) << camel.error().message();
  ASSERT_TRUE(snake) << snake.error().message();
  EXPECT_EQ(to_wire_text(*camel), to_wire_text(*snake));
  EXPECT_EQ(camel->inner_items[0].total_batches, 12);
}

TEST(Wire, WhatWasWrittenReadsBack) {
  Outer outer;
  outer.end_time = Time{1'700'000'000'123'456};
  outer.last_item = Inner{5, -1.5};
  outer.any_value = json::array{1, "a"};
  outer.state = State::STATE_PAUSED;
  const auto back = from_wire_text<Outer>(to_wire_text(outer));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(to_wire_text(*back), to_wire_text(outer));
}

TEST(Wire, NullMeansNotGiven) {
  const auto read =
      from_wire_text<Outer>(R"({"numTrials":null,"innerItems":null,"endTime":null,"freeForm":null})");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(from_wire_text<Strict>(R"({"userName":null})"));
}

struct WireErrorCase {
  const char* body;
  const char* message;
};

class WireErrors : public ::testing::TestWithParam<WireErrorCase> {};

TEST_P(WireErrors, NameThePathTheRuleAndTheValue) {
  const auto read = from_wire_text<Outer>(GetParam().body);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), GetParam().message);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, WireErrors, ::testing::Values(
    WireErrorCase{R"({"trialId":"x"})",                          R"(trialId: expected an id, not "x")"},
    WireErrorCase{R"({"num_trials":3000000000})",                R"(numTrials: expected an integer in range, not 3000000000)"},
    WireErrorCase{R"({"innerItems":[{},{"bestValue":"a"}]})",    R"(innerItems[1].bestValue: expected a number, not "a")"},
    WireErrorCase{R"({"innerItems":{}})",                        R"(innerItems: expected a list, not {})"},
    WireErrorCase{R"({"state":"STATE_ODD"})",                    R"(state: is not one of the allowed names, not "STATE_ODD")"},
    WireErrorCase{R"({"startTime":"yesterday"})",                R"(startTime: expected a time such as 2026-01-02T03:04:05Z, not "yesterday")"},
    WireErrorCase{R"([])",                                       R"(body: expected an object, not [])"}));
// clang-format on

TEST(Wire, ARequiredMemberMustBeThere) {
  const auto read = from_wire_text<Strict>("{}");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), "userName: is required");
  EXPECT_TRUE(from_wire_text<Strict>(R"({"user_name":"x"})"));
}

TEST(Wire, TextOfAnyLengthIsQuotedWhole) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "é";
  EXPECT_TRUE(is_utf8(but_found(json::value(text))));
}

}  // namespace wire_test
}  // namespace det::http
