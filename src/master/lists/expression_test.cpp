#include "det/master/lists/expression.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

const Speaker kSpeaker{.me = "ada", .now = *parse_rfc3339("2026-03-08T10:00:00Z")};

const Row kExample = [](const std::string& column) -> json::value {
  if (column == "id") return 7;
  if (column == "name") return "Fashion MNIST";
  if (column == "description") return "two layers";
  if (column == "tags") return json::array{"vision", "old"};
  if (column == "state") return "RUNNING";
  if (column == "user") return "ada";
  if (column == "startTime") return "2026-03-01T10:00:00Z";
  if (column == "duration") return 5400;
  if (column == "checkpointSize") return 3'000'000'000;
  if (column == "archived") return "false";
  if (column == "searcherMetricsVal") return 0.25;
  if (column == "hp.lr") return 0.001;
  if (column == "hp.optimizer") return "adam";
  if (column == "hp.layer size") return 64;
  if (column == "validation.loss.min") return 0.125;
  return nullptr;
};

struct ExpressionCase {
  const char* text;
  bool matches;
};
void PrintTo(const ExpressionCase& c, std::ostream* out) {
  *out << c.text;
}
class Expressions : public ::testing::TestWithParam<ExpressionCase> {};

TEST_P(Expressions, ChooseRows) {
  const auto parsed = parse_expression(GetParam().text, kSpeaker);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(matches(*parsed, kExample), GetParam().matches);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Expressions, ::testing::Values(
    ExpressionCase{"",                                              true},
    ExpressionCase{"id = 7",                                        true},
    ExpressionCase{"id=8",                                          false},
    ExpressionCase{"id >= 7 and id<8",                              true},
    ExpressionCase{"id in (5, 6, 7)",                               true},
    ExpressionCase{"id in (5)",                                     false},
    ExpressionCase{"lr < 1e-2",                                     true},
    ExpressionCase{"hp.lr < 1e-3",                                  false},
    ExpressionCase{"lr = 0.0010",                                   true},
    ExpressionCase{"`layer size` > 9",                              true},
    ExpressionCase{"optimizer = Adam",                              true},
    ExpressionCase{"optimizer != sgd",                              true},
    ExpressionCase{"optimizer contains da",                         true},
    ExpressionCase{"optimizer not contains da",                     false},
    ExpressionCase{"optimizer !~ da",                               false},
    ExpressionCase{"momentum is empty",                             true},
    ExpressionCase{"momentum is not empty",                         false},
    ExpressionCase{"momentum < 1",                                  false},
    ExpressionCase{"not momentum < 1",                              true},
    ExpressionCase{"not lr < 1e-2",                                 false},
    ExpressionCase{"state = running",                               true},
    ExpressionCase{"state = active",                                true},
    ExpressionCase{"state != ACTIVE",                               false},
    ExpressionCase{"state in (COMPLETED, ERROR)",                   false},
    ExpressionCase{"user = me",                                     true},
    ExpressionCase{"owner = bob",                                   false},
    ExpressionCase{"label = old",                                   true},
    ExpressionCase{"label = ol",                                    false},
    ExpressionCase{"label != old",                                  false},
    ExpressionCase{"started > 2026-02-27",                          true},
    ExpressionCase{"started > 2026-03-01T10:00:01Z",                false},
    ExpressionCase{"started > 8d",                                  true},
    ExpressionCase{"started > 1d",                                  false},
    ExpressionCase{"ended is empty",                                true},
    ExpressionCase{"duration > 1h",                                 true},
    ExpressionCase{"duration > 90m",                                false},
    ExpressionCase{"size > 2GB and size < 3GiB",                    true},
    ExpressionCase{"archived = no",                                 true},
    ExpressionCase{"archived = yes",                                false},
    ExpressionCase{"best < 0.3",                                    true},
    ExpressionCase{"validation.loss.min = 0.125",                   true},
    ExpressionCase{"validation.loss.max > 0",                       false},
    ExpressionCase{"mnist",                                         true},
    ExpressionCase{"layers",                                        true},
    ExpressionCase{"vision",                                        true},
    ExpressionCase{"#7",                                            true},
    ExpressionCase{"8",                                             false},
    ExpressionCase{"cifar",                                         false},
    ExpressionCase{"\"fashion mnist\"",                             true},
    ExpressionCase{"name = 'fashion mnist'",                        true},
    ExpressionCase{"mnist and not old",                             false},
    ExpressionCase{"id = 1 or id = 7 and lr < 1",                   true},
    ExpressionCase{"(id = 1 or id = 7) and lr > 1",                 false},
    ExpressionCase{"id = 7 or id = 1 and lr > 1",                   true},
    ExpressionCase{"NOT (id = 1 OR id = 2) AND user = ME",          true}),
    [](const auto& info) { return std::to_string(info.index); });
// clang-format on

TEST(Expression, ErrorsSayWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"id <", "filter ends where a value is expected"},
      {"id = 7 and", "filter ends where a column or a word is expected"},
      {"id = 7 lr < 1", "filter has 'lr' at character 8, where and, or, or the end is expected"},
      {"(id = 7", "filter ends where a closing parenthesis is expected"},
      {"id = seven", "filter: id is 'seven' at character 6; it must be a number"},
      {"duration > long", "it must be a duration such as 90s, 5m, 2h or 7d"},
      {"started > soon", "it must be a day such as 2026-03-01, a time of RFC 3339, or a duration such as 7d"},
      {"size > 5 apples", "filter has 'apples' at character 10"},
      {"name = 'x", "filter: the text that begins with ' at character 8 has no end"},
      {"id in 5", "filter has '5' at character 7, where a list in parentheses is expected"},
      {"id is 5", "where empty is expected"},
      {"id ! 5", "filter has '!' at character 4, where = != < <= > >= or contains is expected"},
      {"= 5", "filter has '=' at character 1, where a column or a word is expected"}};
  for (const auto& [text, error] : cases) {
    const auto parsed = parse_expression(text, kSpeaker);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(parsed.error().message().find(error) != std::string::npos) << parsed.error().message();
  }
  EXPECT_FALSE(parse_expression(std::string(100, '('), kSpeaker));
  EXPECT_FALSE(parse_expression(std::string(5000, 'a'), kSpeaker));
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "not ";
  EXPECT_FALSE(parse_expression(deep + "a", kSpeaker));
}

}  // namespace
}  // namespace det::master
