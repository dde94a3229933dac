// Thousands of whole lives of the platform, each from a seed, with faults; see world.h.
// A failing seed replays exactly:   DET_SEED=8191 det_simulation_test
// More of them:                     DET_SEEDS=100000 det_simulation_test

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "world.h"

namespace det::simulation {
namespace {

std::string report(std::uint64_t seed, const Verdict& verdict) {
  auto text = fmt::format("seed {}: {}\nreplay it with DET_SEED={}\nthe last events:\n", seed,
                          *verdict.violation, seed);
  for (const auto& event : verdict.last_events) text += "  " + event + "\n";
  return text;
}

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// An assertion of the platform ends the process: it shall not take the seed with it.
std::uint64_t running = 0;
void say_seed(int) {
  std::fprintf(stderr, "replay it with DET_SEED=%llu\n", static_cast<unsigned long long>(running));
}

/// A part of the seeds, so that several processors share them.
class Simulation : public ::testing::TestWithParam<std::uint64_t> {
 public:
  static constexpr std::uint64_t kParts = 4;
};

TEST_P(Simulation, NoSeedBreaksAnInvariant) {
  std::signal(SIGABRT, say_seed);
  const bool one = std::getenv("DET_SEED") != nullptr;
  const auto seeds = number("DET_SEEDS", 5'000);
  const auto first = one ? number("DET_SEED", 0) : GetParam();
  const auto last = one ? first : seeds;
  std::uint64_t counted = 0, all = 0;
  for (std::uint64_t seed = first; seed <= last; seed += kParts, ++all) {
    running = seed;
    const auto verdict = simulate(seed);
    ASSERT_FALSE(verdict.violation) << report(seed, verdict);
    counted += verdict.faults > 0 && verdict.events >= 200 ? 1 : 0;
  }
  if (one) return;
  RecordProperty("seeds_that_count", static_cast<int>(counted));
  EXPECT_GT(counted * 10, all * 7) << "too many seeds were void: no fault, or fewer than 200 events";
}
INSTANTIATE_TEST_SUITE_P(Part, Simulation, ::testing::Range<std::uint64_t>(1, 1 + Simulation::kParts));

TEST(SimulatedLife, TheSameSeedGivesTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto first = simulate(seed);
    const auto second = simulate(seed);
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
  }
}

struct Planted {
  const char* name;
  Mutant mutant;
  std::uint64_t seeds;  ///< within so many it must be found
  std::uint64_t soon =
      1;  ///< where to begin: the first that found it, when it was planted, lay not far beyond
};
class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsFound) {
  const auto& planted = GetParam();
  for (std::uint64_t tried = 0; tried < planted.seeds; ++tried) {
    const auto seed = 1 + (planted.soon - 1 + tried) % planted.seeds;
    if (const auto verdict = simulate(seed, planted.mutant); verdict.violation) {
      std::printf("found by seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  verdict.violation->c_str());
      return;
    }
  }
  FAIL() << "not found in " << planted.seeds << " seeds: the simulated world is too kind";
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, PlantedFault, testing::Values(
    //       name                                mutant                                     seeds  soon
    Planted{"acknowledge_before_sync",           Mutant::AcknowledgeBeforeSync,             300},
    Planted{"no_epoch_or_sequence_check",        Mutant::NoEpochOrSequenceCheck,            500},
    Planted{"dead_token_accepted",               Mutant::DeadTokenAccepted,                 500},
    Planted{"collection_ignores_pins",           Mutant::CollectionIgnoresPins,             100},
    Planted{"restart_forgets_running_work",      Mutant::RestartForgetsRunningWork,         500},
    Planted{"start_said_once",                   Mutant::StartSaidOnce,                     300},
    Planted{"duplicate_exit_counted",            Mutant::DuplicateExitCounted,              300},
    Planted{"duplicate_metric_stored",           Mutant::DuplicateMetricStored,             300},
    Planted{"checkpoint_reported_before_upload", Mutant::CheckpointReportedBeforeUpload,    100},
    Planted{"slot_reused_before_lease",          Mutant::SlotReusedBeforeLease,             500},
    Planted{"shim_does_not_watch_lease",         Mutant::ShimDoesNotWatchLease,           10000, 2500},
    Planted{"lease_counted_from_receipt",        Mutant::LeaseCountedFromReceipt,          5000, 1200},
    Planted{"resume_from_the_beginning",         Mutant::ResumeFromTheBeginning,            100},
    Planted{"waiting_forgets",                   Mutant::WaitingForgets,                    100},
    Planted{"loop_state_from_the_master",        Mutant::LoopStateFromTheMaster,            300},
    Planted{"agent_forgets_what_it_started",     Mutant::AgentForgetsWhatItStarted,         300},
    Planted{"agent_deletes_what_it_remembers",   Mutant::AgentDeletesWhatItRemembers,       300},
    Planted{"slot_time_counted_twice",           Mutant::SlotTimeCountedTwice,             5000},
    Planted{"search_events_shown_early",         Mutant::SearchEventsShownEarly,           5000},
    Planted{"start_before_sync",                 Mutant::StartBeforeSync,                  1000},
    Planted{"orphans_kept",                      Mutant::OrphansKept,                       300},
    Planted{"allotment_end_ignored",             Mutant::AllotmentEndIgnored,               300}),
    [](const auto& info) { return info.param.name; });
// clang-format on

}  // namespace
}  // namespace det::simulation
