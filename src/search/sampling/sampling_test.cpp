#include "det/search/sampling/sampling.h"

#include <gtest/gtest.h>

#include "det/search/sampling/random_state.h"
#include "det/search/testing.h"

namespace det::search {
namespace {

using config::Generation;

struct Vector {
  std::uint32_t seed;
  int trial;
  const char* request_id;
  std::int64_t trial_seed;
  const char* act;
  double dropout, learning_rate;
  std::int64_t n;
};

class DocumentedVectors : public ::testing::TestWithParam<Vector> {};

TEST_P(DocumentedVectors, AreDrawn) {
  const auto& expected = GetParam();
  Random random(expected.seed);
  Create create;
  for (int i = 0; i <= expected.trial; ++i)
    create = create_trial(sample(testing::documented_space(), Generation::Length, random), random);

  EXPECT_EQ(create.request_id, expected.request_id);
  EXPECT_EQ(create.trial_seed, expected.trial_seed);
  EXPECT_EQ(create.hparams.at("act"), expected.act);
  EXPECT_EQ(create.hparams.at("dropout"), expected.dropout);
  EXPECT_EQ(create.hparams.at("k"), 64);
  EXPECT_NEAR(create.hparams.at("learning_rate").as_double(), expected.learning_rate,
              1e-12 * expected.learning_rate);
  EXPECT_EQ(create.hparams.at("n"), expected.n);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Seed, DocumentedVectors, ::testing::Values(
    //     seed trial request id                              trial seed  act     dropout              learning rate           n
    Vector{0,   0, "677de5d8-09a4-446c-93de-a19f155159a5", 1650906866, "relu", 0.5557067709350111,  0.004881255012149703,   4},
    Vector{0,   1, "e67daeca-274a-4acf-97a8-6587aec8df7a", 292249176,  "relu", 0.37852076392668343, 0.0001298452164375177,  2},
    Vector{42,  0, "bcae4199-142c-4b98-a6d6-f02779182272", 669991378,  "gelu", 0.6779257921161398,  0.00023273922280628702, 8},
    Vector{42,  1, "67eb9224-973e-44b5-82a0-a0a695064505", 242285876,  "gelu", 0.23485016730091968, 0.0053994844097874275,  4},
    Vector{777, 0, "a7ad4fed-d943-489c-aef3-1bbafa0d9fc1", 1153182488, "gelu", 0.2372218488287372,  0.0008312289936751481,  5},
    Vector{777, 1, "524b6614-54a1-4b85-85ed-f09607ffea62", 1474636353, "gelu", 0.43279205252541286, 0.0004948040304895893,  2}),
    [](const auto& info) { return fmt::format("{}_trial_{}", info.param.seed, info.param.trial); });
// clang-format on

std::set<std::int64_t> values_of(const config::Integer& integer, Generation generation) {
  std::set<std::int64_t> values;
  Random random(5);
  for (int i = 0; i < 200; ++i)
    values.insert(sample({{"n", {integer}}}, generation, random).at("n").as_int64());
  return values;
}

TEST(Sampling, TheUpperEndOfAnIntegerIsIncludedSinceMaxLength) {
  EXPECT_EQ(values_of({1, 3, {}}, Generation::Length), (std::set<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(values_of({1, 3, {}}, Generation::Time), (std::set<std::int64_t>{1, 2, 3}));
}

TEST(Sampling, TheUpperEndOfAnIntegerIsExcludedWithMaxSteps) {
  EXPECT_EQ(values_of({1, 3, {}}, Generation::Steps), (std::set<std::int64_t>{1, 2}));
}

TEST(Sampling, ConstantsAndChoicesOfOneDrawNothing) {
  Random random(3);
  const auto before = random.state();
  const auto values = sample({{"a", {config::Constant{json::array{1, "x"}}}},
                              {"b", {config::Categorical{{7}}}},
                              {"c", {config::Integer{4, 4, {}}}}},
                             Generation::Length, random);
  EXPECT_EQ(random.state(), before);
  EXPECT_EQ(json::serialize(values), R"({"a":[1,"x"],"b":7,"c":4})");
}

TEST(Sampling, NestedValuesAreDrawnAtThePlaceOfTheirParentInOrderOfNames) {
  const config::Hyperparameter number{config::Double{0, 1, {}}};
  Random flat(9), nested(9);
  const auto expected =
      sample({{"a", number}, {"b", number}, {"c", number}, {"d", number}}, Generation::Length, flat);
  const auto drawn =
      sample({{"a", number}, {"m", {config::Nested{{{"y", number}, {"x", number}}}}}, {"z", number}},
             Generation::Length, nested);
  EXPECT_EQ(drawn.at("a"), expected.at("a"));
  EXPECT_EQ(drawn.at("m").at("x"), expected.at("b"));
  EXPECT_EQ(drawn.at("m").at("y"), expected.at("c"));
  EXPECT_EQ(drawn.at("z"), expected.at("d"));
}

TEST(Sampling, RangesWithoutAValueAreRefusedByName) {
  const auto problem = [](config::Hyperparameter h, Generation generation = Generation::Length) {
    auto checked = check_samplable({{"outer", {config::Nested{{{"x", std::move(h)}}}}}}, generation);
    return checked ? "" : checked.error().message();
  };
  EXPECT_EQ(problem({config::Integer{2, 1, {}}}),
            "hyperparameters: outer: x: maxval is 1; it must be at least minval, 2");
  EXPECT_EQ(problem({config::Integer{2, 2, {}}}), "");
  EXPECT_EQ(problem({config::Integer{2, 2, {}}}, Generation::Steps),
            "hyperparameters: outer: x: maxval is 2; it must be greater than minval, 2, because maxval is "
            "excluded");
  EXPECT_EQ(problem({config::Double{0, NAN, {}}}),
            "hyperparameters: outer: x: maxval is nan; it must be a number of at least minval, 0");
  EXPECT_EQ(problem({config::Categorical{}}),
            "hyperparameters: outer: x: vals is empty; it must have at least one value");
}

TEST(RandomState, ContinuesTheStreamFromItsJson) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) random.bits32();
  const auto saved = random_to_json(random);
  auto restored = random_from_json(*json::parse(json::serialize(saved)));
  ASSERT_TRUE(restored);
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(restored->bits32(), random.bits32());
  EXPECT_LT(json::serialize(saved).size(), 5100u);
}

TEST(RandomState, ABrokenStateIsRefused) {
  const auto good = random_to_json(Random(1)).as_object();
  auto position = good, length = good, digit = good;
  position["position"] = 625;
  length["words"] = "00";
  digit["words"].as_string()[17] = 'x';
  EXPECT_EQ(random_from_json(position).error().message(), "position is 625; must be from 0 to 624");
  EXPECT_EQ(random_from_json(length).error().message(), "words has 2 digits; must have 4992");
  EXPECT_EQ(random_from_json(digit).error().message(),
            "words has other characters than hexadecimal digits at 16");
  EXPECT_FALSE(random_from_json(json::object{}));
}

}  // namespace
}  // namespace det::search
