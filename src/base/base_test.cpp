#include <gtest/gtest.h>

#include "det/base/json.h"
#include "det/base/random.h"
#include "det/base/text.h"
#include "det/base/time.h"
#include "det/base/uuid.h"

namespace det {
namespace {

// numpy 1.26: RandomState(0) and the vectors of the documented stream.
TEST(Random, IsNumPysLegacyStream) {
  Random random(0);
  EXPECT_EQ(random.bits32(), 2357136044u);
  EXPECT_EQ(random.bits32(), 2546248239u);
  EXPECT_EQ(random.unit(), 0.7151893663724195);
  EXPECT_EQ(random.below(10), 3);
  EXPECT_EQ(random.below(std::int64_t{1} << 31), 1537364731);
}

TEST(Random, ContinuesFromItsState) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) random.bits32();
  Random copy(random.state());
  EXPECT_EQ(copy.bits64(), random.bits64());
}

TEST(Random, AChoiceOfOneDrawsNothing) {
  Random random(3);
  const auto before = random.state();
  EXPECT_EQ(random.below(1), 0);
  EXPECT_EQ(random.state(), before);
}

TEST(Uuid, IsReadAsItIsWrittenAndOrderedAsItsText) {
  Random random(1);
  std::vector<std::string> texts;
  std::vector<Uuid> uuids;
  for (int i = 0; i < 100; ++i) {
    texts.push_back(random.uuid());
    const auto uuid = parse_uuid(texts.back());
    ASSERT_TRUE(uuid) << texts.back();
    EXPECT_EQ(uuid_text(*uuid), texts.back());
    uuids.push_back(*uuid);
  }
  std::ranges::sort(texts);
  std::ranges::sort(uuids);
  for (std::size_t i = 0; i < uuids.size(); ++i) EXPECT_EQ(uuid_text(uuids[i]), texts[i]);
}

TEST(Uuid, HasOneSpelling) {
  EXPECT_TRUE(parse_uuid("677de5d8-09a4-446c-93de-a19f155159a5"));
  for (const char* text : {"", "677de5d8-09a4-446c-93de-a19f155159a", "677DE5D8-09a4-446c-93de-a19f155159a5",
                           "677de5d809a4-446c-93de-a19f155159a55", "677de5d8-09a4-446c-93de-a19f155159ag",
                           "{677de5d8-09a4-446c-93de-a19f155159a5}", "677de5d8-09a4-446c-93de-a19f15515-a5"})
    EXPECT_FALSE(parse_uuid(text)) << text;
}

TEST(Time, IsWrittenAndReadAsRfc3339) {
  const Time time{1'767'323'045'123'456};
  EXPECT_EQ(to_rfc3339(time), "2026-01-02T03:04:05.123456Z");
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.123456Z"), time);
  EXPECT_EQ(parse_rfc3339("2026-01-02T04:04:05.123456789+01:00"), time);
}

TEST(Time, AJsonTimestampHasNoMoreDigitsThanNeeded) {
  const std::int64_t second = 1'767'391'200 * kSecond;
  for (const auto& [fraction, text] : {std::pair{0, "2026-01-02T22:00:00Z"},
                                       {500'000, "2026-01-02T22:00:00.500Z"},
                                       {120, "2026-01-02T22:00:00.000120Z"},
                                       {123'456, "2026-01-02T22:00:00.123456Z"}})
    EXPECT_EQ(to_json_timestamp(Time{second + fraction}), text);
}

TEST(Time, RefusesWhatIsNotATime) {
  for (const char* text :
       {"", "yesterday", "2026-13-01T00:00:00Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05Zx"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(Text, IsFoundInUpperAndLowerCase) {
  EXPECT_TRUE(contains_ignoring_case("Fashion MNIST", "mnist"));
  EXPECT_TRUE(contains_ignoring_case("mnist", ""));
  EXPECT_FALSE(contains_ignoring_case("mnist", "MNISTS"));
}

TEST(Text, SizesGoInStepsOf1024) {
  EXPECT_EQ(human_size(0), "0.0B");
  EXPECT_EQ(human_size(2560), "2.5KB");
  EXPECT_EQ(human_size(std::int64_t{95} * 1024 * 1024), "95.0MB");
}

TEST(Text, Base64ReturnsTheSameBytes) {
  for (const auto& bytes :
       {std::string(""), std::string("f"), std::string("fo"), std::string("foo\0\xff", 5)})
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
  EXPECT_EQ(base64_encode("foob"), "Zm9vYg==");
  EXPECT_FALSE(base64_decode("a*b"));
  EXPECT_FALSE(base64_decode("abcde"));
}

TEST(Text, KnowsUtf8) {
  EXPECT_TRUE(is_utf8("plain, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80"));
  for (const char* text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe0\x80\x80"})
    EXPECT_FALSE(is_utf8(text));
}

struct Inner {
  int count = 1;
  std::optional<double> metric;
  friend bool operator==(const Inner&, const Inner&) = default;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (count, metric))
struct Outer {
  TrialId trial;
  std::vector<Inner> inner;
  std::map<TrialId, std::string> names;
  friend bool operator==(const Outer&, const Outer&) = default;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (trial, inner, names))

double parse_double(const std::string& text) {
  const auto parsed = json::parse("[" + text + "]");
  return parsed ? parsed->at(0).to_number<double>() : NAN;
}

TEST(Json, ReturnsTheSameStruct) {
  const Outer outer{
      .trial = TrialId{7}, .inner = {{.count = 2, .metric = 0.5}, {}}, .names = {{TrialId{1}, "a"}}};
  EXPECT_EQ(json::from_json<Outer>(json::to_json(outer)), outer);
}

TEST(Json, NamesThePathOfAnError) {
  const auto read = json::from_json<Outer>(*json::parse(R"({"inner":[{},{"count":"x"}]})"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), "inner[1].count: expected an integer in range");
}

TEST(Json, CarriesNumbersThatJsonLacks) {
  Inner inner{.metric = std::numeric_limits<double>::infinity()};
  EXPECT_EQ(json::serialize(json::to_json(inner)), R"({"count":1,"metric":"Infinity"})");
  EXPECT_EQ(json::from_json<Inner>(json::to_json(inner)), inner);
}

TEST(Json, ReadsThePythonSpellingOfNonFiniteNumbers) {
  const auto read = json::parse(R"({"a": NaN, "b": [-Infinity, "NaN in a string"]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(json::serialize(*read), R"({"a":"NaN","b":["-Infinity","NaN in a string"]})");
}

TEST(Json, EveryDoubleIsReadAsItWasWritten) {
  Random random(0);
  for (int i = 0; i < 100'000; ++i) {
    const double number = std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(600)) - 300);
    ASSERT_EQ(parse_double(json::serialize(number)), number);
    ASSERT_EQ(parse_double(fmt::format("{:.17g}", number)), number);
  }
  for (const double number : {5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e22, 1e23, -0.0})
    EXPECT_EQ(parse_double(json::serialize(number)), number);
}

TEST(Json, NumbersStayIntegersOrDoubles) {
  EXPECT_EQ(json::serialize(*json::parse("[1, -1, 9223372036854775807, 18446744073709551615, 1.0, 1e2]")),
            "[1,-1,9223372036854775807,18446744073709551615,1.0,100.0]");
}

TEST(Json, DoublesAreSpelledAsPythonsReprDoes) {
  const std::pair<double, const char*> spelled[] = {{0.5, "0.5"},
                                                    {0.001, "0.001"},
                                                    {0.0001, "0.0001"},
                                                    {1e-5, "1e-05"},
                                                    {1.25e-7, "1.25e-07"},
                                                    {5e-324, "5e-324"},
                                                    {1, "1.0"},
                                                    {-0.0, "-0.0"},
                                                    {123456.0, "123456.0"},
                                                    {1e15, "1000000000000000.0"},
                                                    {1e16, "1e+16"},
                                                    {1.5e300, "1.5e+300"},
                                                    {0.1 + 0.2, "0.30000000000000004"},
                                                    {9999999999999998.0, "9999999999999998.0"}};
  for (const auto& [number, text] : spelled) EXPECT_EQ(json::serialize(number), text);
  EXPECT_EQ(json::pretty(*json::parse(R"({"a":[1e-1],"b":{},"c":"\"\n"})"), 2),
            "{\n  \"a\": [\n    0.1\n  ],\n  \"b\": {},\n  \"c\": \"\\\"\\n\"\n}");
}

TEST(Json, ADoubleThatIsNoNumberIsStillJson) {
  EXPECT_EQ(json::serialize(json::value(std::numeric_limits<double>::quiet_NaN())), "\"NaN\"");
  EXPECT_EQ(json::serialize(json::value(-std::numeric_limits<double>::infinity())), "\"-Infinity\"");
}

TEST(Json, RefusesWhatFollowsTheValue) {
  EXPECT_TRUE(json::parse(" {} \n"));
  for (const char* text : {"{} x", "1 2", "", " ", "[1", "{\"a\":", "tru", "\"abc"})
    EXPECT_FALSE(json::parse(text)) << text;
}

TEST(Json, ANameThatStandsTwiceIsNamedWhereTheTextComesFromOutside) {
  EXPECT_EQ(json::parse(R"({"lr":1,"lr":2})")->at("lr"), 2);
  for (const auto* text : {R"({"a":1,"lr":1,"lr":2})", R"([{"b":{"x":{},"lr":[],"lr":0}}])",
                           R"({"lr":NaN,"lr":1})", R"({"lr":1,"\u006cr":2})"}) {
    const auto parsed = json::parse_unambiguous(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(parsed.error().message(), "\"lr\" appears twice in one object; remove one of the two");
  }
  for (const auto* text : {R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})", R"({"":1," ":2})", "[]", "3"})
    EXPECT_TRUE(json::parse_unambiguous(text)) << text;
  std::string key(10'000, 'k');  // read in pieces
  EXPECT_FALSE(json::parse_unambiguous("{\"" + key + "\":1,\"" + key + "\":2}"));
}

TEST(Json, RefusesNestingWithoutEnd) {
  EXPECT_FALSE(json::parse(std::string(100'000, '[')));
}

}  // namespace
}  // namespace det
