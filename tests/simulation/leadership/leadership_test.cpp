// Thousands of lives of several masters on one database, each from a seed, with faults; see world.h.
// A failing seed replays exactly:   DET_SEED=8191 det_leadership_test
// More of them:                     DET_SEEDS=100000 det_leadership_test

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "world.h"

namespace det::simulation::leadership {
namespace {

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string report(std::uint64_t seed, const Verdict& verdict) {
  auto text = fmt::format("seed {}: {}\nthe last events:\n", seed, *verdict.violation);
  for (const auto& event : verdict.last_events) text += "  " + event + "\n";
  return text;
}

TEST(SeveralMasters, NeverTwoLeadAndNothingAcknowledgedIsLost) {
  const bool one = std::getenv("DET_SEED") != nullptr;
  const auto first = one ? number("DET_SEED", 0) : 1;
  const auto last = one ? first : number("DET_SEEDS", 2'000);
  int successions = 0;
  for (auto seed = first; seed <= last; ++seed) {
    const auto verdict = simulate(seed);
    ASSERT_FALSE(verdict.violation) << report(seed, verdict);
    successions += verdict.leaders - 1;
  }
  if (!one) EXPECT_GT(successions, static_cast<int>(last)) << "too little has happened";
}

TEST(SeveralMasters, TheSameSeedGivesTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(simulate(seed).last_events, simulate(seed).last_events) << "seed " << seed;
}

struct Planted {
  const char* name;
  Mutant mutant;
};
class PlantedInLeadership : public testing::TestWithParam<Planted> {};

TEST_P(PlantedInLeadership, IsFound) {
  for (std::uint64_t seed = 1; seed <= 5'000; ++seed)
    if (const auto verdict = simulate(seed, GetParam().mutant); verdict.violation) {
      std::printf("found by seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  verdict.violation->c_str());
      return;
    }
  FAIL() << "not found in 5000 seeds: the simulated world is too kind";
}

INSTANTIATE_TEST_SUITE_P(, PlantedInLeadership,
                         testing::Values(Planted{"reads_before_locking", Mutant::ReadsBeforeLocking},
                                         Planted{"repeats_without_asking", Mutant::RepeatsWithoutAsking},
                                         Planted{"no_fence", Mutant::NoFence},
                                         Planted{"keeps_leading", Mutant::KeepsLeading}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace det::simulation::leadership
