// Our draws against NumPy's: tests/golden/searcher_draws.py made the file.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "det/search/sampling/sampling.h"

namespace det::search {
namespace {

config::Hyperparameters space() {
  using namespace config;
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return {{"act", {Categorical{{"relu", "tanh", "gelu"}}}},
          {"dropout", {Double{0.2, 0.8, {}}}},
          {"k", {Constant{64}}},
          {"learning_rate", {Log{10, -4, -2, {}}}},
          {"n", {Integer{1, 10, {}}}},
          {"nested",
           {Nested{{{"b", {Categorical{{true}}}},
                    {"c", {Nested{{{"deep", {Integer{-5, std::int64_t{1} << 40, {}}}}}}}},
                    {"d", {Double{-1, 1, {}}}}}}}},
          {"wide", {Integer{kMin, kMax, {}}}}};
}

/// Equal, except that doubles may differ by what `pow` of two libraries may.
void expect_same(const json::value& ours, const json::value& numpys, const std::string& where) {
  if (numpys.is_object()) {
    ASSERT_TRUE(ours.is_object()) << where;
    ASSERT_EQ(ours.get_object().size(), numpys.get_object().size()) << where;
    for (const auto& [name, value] : numpys.get_object()) {
      ASSERT_TRUE(ours.get_object().contains(name)) << where << "." << name;
      expect_same(ours.at(name), value, where + "." + std::string(name));
    }
  } else if (numpys.is_double()) {
    ASSERT_TRUE(ours.is_double()) << where;
    EXPECT_NEAR(ours.get_double(), numpys.get_double(), 1e-12 * std::abs(numpys.get_double())) << where;
  } else {
    EXPECT_EQ(ours, numpys) << where;
  }
}

TEST(Golden, EveryDrawIsNumPys) {
  std::stringstream text;
  text << std::ifstream(DET_GOLDEN "/searcher_draws.json").rdbuf();
  const auto golden = json::parse(text.str());
  ASSERT_TRUE(golden) << golden.error().message();
  const auto trials = golden->at("trials").as_int64();
  for (const auto& search : golden->at("searches").as_array()) {
    Random random(static_cast<std::uint32_t>(search.at("seed").as_int64()));
    const auto generation =
        search.at("maxval_included").as_bool() ? config::Generation::Length : config::Generation::Steps;
    const auto& first = search.at("first").as_array();
    for (std::int64_t i = 0; i < trials; ++i) {
      auto create = json::to_json(create_trial(sample(space(), generation, random), random));
      create.as_object().erase("parent");  // nobody's: nothing was drawn for it
      create.as_object().erase("checkpoint");
      const auto where = fmt::format("seed {}, trial {}", search.at("seed").as_int64(), i);
      if (static_cast<std::size_t>(i) < first.size())
        expect_same(create, first[static_cast<std::size_t>(i)], where);
      if (i == trials - 1) expect_same(create, search.at("last"), where);
    }
  }
}

}  // namespace
}  // namespace det::search
