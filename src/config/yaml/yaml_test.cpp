#include <gmock/gmock.h>

#include "det/base/text.h"
#include "det/config/testing.h"

namespace det::config {
namespace {

using ::testing::HasSubstr;
using testing::yaml_value;

std::string refusal(const std::string& yaml, const YamlLimits& limits = {}) {
  const auto document = parse_yaml(yaml, limits);
  if (document) return "accepted as " + json::serialize(document->value);
  std::string text;
  for (const auto& problem : document.error()) text += to_text("<config>", problem) + "\n";
  return text;
}

struct ScalarCase {
  const char* yaml;
  const char* json;
};
class PlainScalars : public ::testing::TestWithParam<ScalarCase> {};

TEST_P(PlainScalars, ReadAsPyYamlReadsThemButForNumbersWithExponents) {
  EXPECT_EQ(json::serialize(yaml_value(GetParam().yaml)), GetParam().json);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, PlainScalars, ::testing::Values(
    //          yaml            json
    ScalarCase{"yes",           "true"},
    ScalarCase{"No",            "false"},
    ScalarCase{"on",            "true"},
    ScalarCase{"OFF",           "false"},
    ScalarCase{"True",          "true"},
    ScalarCase{"y",             "\"y\""},
    ScalarCase{"'yes'",         "\"yes\""},
    ScalarCase{"~",             "null"},
    ScalarCase{"Null",          "null"},
    ScalarCase{"",              "null"},
    ScalarCase{"\"\"",          "\"\""},
    ScalarCase{"0",             "0"},
    ScalarCase{"-12",           "-12"},
    ScalarCase{"+5",            "5"},
    ScalarCase{"1_000",         "1000"},
    ScalarCase{"0x1F",          "31"},
    ScalarCase{"0b101",         "5"},
    ScalarCase{"0o17",          "15"},
    ScalarCase{"9223372036854775807",  "9223372036854775807"},
    ScalarCase{"-9223372036854775808", "-9223372036854775808"},
    ScalarCase{"1.5",           "1.5"},
    ScalarCase{"-.5",           "-0.5"},
    ScalarCase{"5.",            "5.0"},
    ScalarCase{"1e-4",          "0.0001"},
    ScalarCase{"1E3",           "1000.0"},
    ScalarCase{"1.0e+2",        "100.0"},
    ScalarCase{"00.5",          "0.5"},
    ScalarCase{"1.2.3",         "\"1.2.3\""},
    ScalarCase{"1e",            "\"1e\""},
    ScalarCase{"12:30:45",      "\"12:30:45\""},
    ScalarCase{"2020-01-01",    "\"2020-01-01\""},
    ScalarCase{"-",             "[null]"},
    ScalarCase{"model_def:A",   "\"model_def:A\""},
    ScalarCase{"!!str 10",      "\"10\""},
    ScalarCase{"!!int '5'",     "5"},
    ScalarCase{"!!float 3",     "3.0"},
    ScalarCase{"{5: a, yes: b, null: c, ~: d, 010: e, 1.5: f}",
               "{\"5\":\"a\",\"yes\":\"b\",\"null\":\"c\",\"~\":\"d\",\"010\":\"e\",\"1.5\":\"f\"}"}));
// clang-format on

struct RefusalCase {
  const char* name;
  std::string yaml;
  const char* message;
};
class Yaml : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(Yaml, RefusesWhatProgramsReadDifferently) {
  EXPECT_THAT(refusal(GetParam().yaml), HasSubstr(GetParam().message));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Yaml, ::testing::Values(
    //           name                    yaml                            message
    RefusalCase{"duplicate_key",         "a: 1\nb: 2\na: 3\n",           "<config>.a (line 3): duplicate key \"a\" (lines 1 and 3)"},
    RefusalCase{"nested_duplicate",      "x:\n  a: 1\n  a: 2\n",         "<config>.x.a (line 3): duplicate key \"a\" (lines 2 and 3)"},
    RefusalCase{"octal",                 "a: 010",                       "<config>.a (line 1): 010 is ambiguous"},
    RefusalCase{"octal_says_what_to_do", "a: 010",                       "write 10 for the integer, or quote it"},
    RefusalCase{"negative_octal",        "a: -007",                      "write -7 for the integer"},
    RefusalCase{"nan",                   "a: .nan",                      ".nan is not a finite number"},
    RefusalCase{"infinity",              "a: [1, -.INF]",                "<config>.a[1] (line 1): -.INF is not a finite number"},
    RefusalCase{"too_large",             "a: 1e400",                     "1e400 is too large for a floating-point number"},
    RefusalCase{"too_many_digits",       "a: 18446744073709551616",      "does not fit in 64 bits"},
    RefusalCase{"digits_say_what_to_do", "a: 18446744073709551616",      "write a smaller integer, or quote it to make it text"},
    RefusalCase{"too_negative",          "a: -9223372036854775809",      "does not fit in 64 bits"},
    RefusalCase{"custom_tag",            "a: !secret b",                 "the tag !secret is not accepted:"},
    RefusalCase{"python_tag",            "a: !!python/object:os {}",     "the tag !!python/object:os is not accepted:"},
    RefusalCase{"wrong_core_tag",        "a: !!int b",                   "b does not match its tag !!int"},
    RefusalCase{"alias_of_itself",       "a: &x [*x]",                   "an alias refers to a value that contains it"},
    RefusalCase{"unknown_alias",         "a: *x",                        "not valid YAML"},
    RefusalCase{"list_as_key",           "? [a]\n: b",                   "keys must be text"},
    RefusalCase{"alias_as_key",          "a: &x k\n*x : b",              "a key cannot be an alias"},
    RefusalCase{"missing_key",           ": a",                          "a key is missing"},
    RefusalCase{"merge_of_a_scalar",     "<<: 5",                        "the merge key << needs a map or a list of maps"},
    RefusalCase{"second_document",       "a: 1\n---\nb: 2",              "a second document"},
    RefusalCase{"tab_indentation",       "a:\n\tb: 1",                   "(line 2): not valid YAML"},
    RefusalCase{"unclosed_quote",        "a: \"b",                       "not valid YAML"},
    RefusalCase{"control_character",     "a: b\x04\nc: d",               "(line 1): the control character 0x04"},
    RefusalCase{"zero_byte",             std::string("a: b\n\0", 6),     "(line 2): the control character 0x00"},
    RefusalCase{"escaped_zero",          "a: \"x\\0y\"",                 "U+0000"},
    RefusalCase{"bad_utf8",              "a: b\nc: \xff\n",              "(line 2): the text is not UTF-8"},
    RefusalCase{"overlong_utf8",         "a: \xc0\xaf",                  "the text is not UTF-8"},
    RefusalCase{"surrogate",             "a: \xed\xa0\x80",              "the text is not UTF-8"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(YamlProblems, OfScalarsAndKeysAreAllReportedAtOnce) {
  EXPECT_EQ(refusal("a: 010\nb: .inf\na: 1\n"),
            "<config>.a (line 1): 010 is ambiguous, because some programs read a leading 0 as octal: "
            "write 10 for the integer, or quote it to make it text\n<config>.b (line 2): .inf is not "
            "a finite number, and JSON, in which the trial receives its configuration, has only "
            "finite ones: write a finite number, or quote it to make it text\n<config>.a (line 3): "
            "duplicate key \"a\" (lines 1 and 3): keep only one of them\n");
}

TEST(YamlLimitsTest, ADocumentOfOneMebibyteIsReadAndOneByteMoreIsNot) {
  const std::string prefix = "a: ";
  const auto text = prefix + std::string((1 << 20) - prefix.size(), 'x');
  EXPECT_TRUE(parse_yaml(text));
  EXPECT_THAT(refusal(text + "x"), HasSubstr("the document has 1048577 bytes; at most 1048576 are accepted"));
}

TEST(YamlLimitsTest, SixtyFourLevelsAreReadAndOneMoreIsNot) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_yaml(nested(64)));
  EXPECT_THAT(refusal(nested(65)), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(refusal("a: &x " + nested(40) + "\nb: " + std::string(30, '[') + "*x" + std::string(30, ']')),
              HasSubstr("nested deeper than 64 levels"));
}

TEST(YamlLimitsTest, ValuesAreCountedAfterAliasesAreExpanded) {
  const YamlLimits limits{.nodes_max = 10};
  EXPECT_TRUE(parse_yaml("[1, 2, 3, 4, 5, 6, 7, 8, 9]", limits));
  EXPECT_THAT(refusal("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", limits), HasSubstr("more than 10 values"));
  EXPECT_TRUE(parse_yaml("[&a [1], *a, *a]", limits));
  EXPECT_THAT(refusal("[&a [1], *a, *a, *a]", limits), HasSubstr("more than 10 values"));
}

TEST(YamlLimitsTest, AnAliasBombIsRefusedBeforeItIsExpanded) {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    bomb += fmt::format("{}: &{} [", c, c);
    for (int i = 0; i < 9; ++i) bomb += fmt::format("{}*{}", i > 0 ? "," : "", static_cast<char>(c - 1));
    bomb += "]\n";
  }
  EXPECT_THAT(refusal(bomb), HasSubstr("more than 100000 values, counting those repeated by aliases"));
}

TEST(YamlLimitsTest, ManyAliasesOfALongTextAreRefusedBeforeTheyAreExpanded) {
  std::string bomb = "a: &a " + std::string(500'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 50'000; ++i) bomb += ",*a";
  EXPECT_THAT(refusal(bomb + "]\n"), HasSubstr("the text repeated by aliases is larger than"));
}

TEST(YamlDocument, KnowsTheLineOfEveryMemberAndElement) {
  const auto document = parse_yaml("a: 1\nb:\n  c:\n  - x\n  - y: 2\n").value();
  EXPECT_EQ(document.line(Path{} / "a"), 1);
  EXPECT_EQ(document.line(Path{} / "b" / "c"), 3);
  EXPECT_EQ(document.line(Path{} / "b" / "c" / 0), 4);
  EXPECT_EQ(document.line(Path{} / "b" / "c" / 1 / "y"), 5);
  EXPECT_EQ(document.line(Path{} / "b" / "d"), std::nullopt);
  EXPECT_EQ(document.line(Path{} / "b" / "c" / 2), std::nullopt);
}

TEST(YamlMergeKeys, GiveWayToExplicitKeysAndToEarlierMaps) {
  EXPECT_EQ(yaml_value("base: &b {x: 1, y: 2}\nd: {y: 3, <<: *b}\n").at("d"),
            (json::object{{"y", 3}, {"x", 1}}));
  EXPECT_EQ(yaml_value("d: {<<: [{x: 1}, {x: 2, z: 3}]}\n").at("d"), (json::object{{"x", 1}, {"z", 3}}));
  EXPECT_EQ(yaml_value("'<<': 1"), (json::object{{"<<", 1}})) << "a quoted key is only text";
}

TEST(YamlText, MayBeginWithAByteOrderMarkAndEndItsLinesAsWindowsDoes) {
  EXPECT_EQ(yaml_value("\xEF\xBB\xBF"
                       "a: 1\r\nb: x\r\n"),
            (json::object{{"a", 1}, {"b", "x"}}));
}

TEST(EmittedYaml, IsInBlockStyleWithSortedKeys) {
  const json::value value = {{"b", {1, {{"y", 1.5}, {"x", nullptr}}, json::array{}}},
                             {"a", json::object{}},
                             {"entrypoint", "model_def:MNistTrial"}};
  EXPECT_EQ(emit_yaml(value),
            "a: {}\n"
            "b:\n"
            "- 1\n"
            "- x: null\n"
            "  \"y\": 1.5\n"
            "- []\n"
            "entrypoint: model_def:MNistTrial\n");
}

struct EmitCase {
  json::value value;
  const char* yaml;
};

TEST(EmittedYaml, QuotesWhatWouldBeReadAsSomethingElse) {
  const std::vector<EmitCase> cases = {{"yes", "\"yes\"\n"},   {"y", "\"y\"\n"},
                                       {"10", "\"10\"\n"},     {"1e-4", "\"1e-4\"\n"},
                                       {"", "\"\"\n"},         {"null", "\"null\"\n"},
                                       {"a: b", "\"a: b\"\n"}, {"a\nb", "\"a\\nb\"\n"},
                                       {"- a", "\"- a\"\n"},   {"plain words", "plain words\n"},
                                       {"A=1", "A=1\n"},       {1e-5, "1.0e-05\n"},
                                       {100.0, "100.0\n"},     {1e20, "1.0e+20\n"},
                                       {true, "true\n"},       {"2020-01-01", "\"2020-01-01\"\n"},
                                       {".inf", "\".inf\"\n"}};
  for (const auto& c : cases) EXPECT_EQ(emit_yaml(c.value), c.yaml);
}

TEST(EmittedYaml, ReadsBackAsTheSameValue) {
  const auto value = yaml_value(
      R"({a: [[], {}, [[1]], [{b: [2]}]], "key: odd": "quo\"te", c: {d: {e: ["", " x ", "#", "\u00e9\t"]}}, f: 1.0e-300, g: -0.0})");
  EXPECT_EQ(yaml_value(emit_yaml(value)), value);
}

TEST(Options, SetAValueAtADottedPath) {
  json::object document;
  EXPECT_TRUE(apply_option(document, "searcher.max_length={batches: 100}"));
  EXPECT_TRUE(apply_option(document, "searcher.name=single"));
  EXPECT_TRUE(apply_option(document, "hyperparameters.lr=1e-4"));
  EXPECT_TRUE(apply_option(document, "description=a=b"));
  EXPECT_EQ(document, (json::object{{"searcher", {{"max_length", {{"batches", 100}}}, {"name", "single"}}},
                                    {"hyperparameters", {{"lr", 1e-4}}},
                                    {"description", "a=b"}}));
}

TEST(Options, SayWhatIsWrongWithThem) {
  json::object document{{"name", "x"}};
  EXPECT_THAT(apply_option(document, "debug").error().message(), HasSubstr("not of the form key=value"));
  EXPECT_THAT(apply_option(document, "a..b=1").error().message(), HasSubstr("an empty part"));
  EXPECT_THAT(apply_option(document, "name.first=1").error().message(), HasSubstr("name is not a section"));
  EXPECT_THAT(apply_option(document, "a=[1").error().message(), HasSubstr("a bracket is not closed:"));
}

TEST(ShownText, IsOneLineThatNoTerminalActsOn) {
  EXPECT_EQ(shown("a\x1b[31mb\nc"), "a\\x1b[31mb\\nc");
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "\\x9b31m");
  const auto cut = shown(std::string(79, 'x') + "\xC3\xA9\xC3\xA9");
  EXPECT_TRUE(is_utf8(cut));
  EXPECT_TRUE(cut.ends_with("..."));
}

}  // namespace
}  // namespace det::config
