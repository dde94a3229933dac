// A deterministic search: the same trials to the same lengths, whoever is faster, whoever dies.

#include "det/search/methods/barrier.h"

#include <gtest/gtest.h>

#include "det/search/searcher.h"
#include "det/search/testing.h"

namespace det::search {
namespace {

config::ExperimentConfig halving(bool deterministic, bool stop_once, const char* name) {
  auto config = testing::search_config(name, 20, 5);
  config.hyperparameters = testing::documented_space();
  config.experiment_seed = 9;
  config.searcher.max_length.count = 90;
  config.searcher.fields = {{"name", name},
                            {"num_rungs", 3},
                            {"divisor", 3},
                            {"max_trials", 20},
                            {"max_rungs", 3},
                            {"mode", "standard"},
                            {"stop_once", stop_once},
                            {"max_concurrent_trials", 5},
                            {"deterministic", deterministic}};
  return config;
}

struct Outcome {
  std::vector<RequestId> created;
  std::map<RequestId, std::int64_t> reached;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Plays a search in a random order of reports; results follow from the trial and its length alone, and so
/// does who fails. Restarts from a snapshot now and then.
Outcome play(const config::ExperimentConfig& config, std::uint32_t world_seed, bool failures) {
  Random world(world_seed);
  auto searcher = *Searcher::make(config);
  Outcome outcome;
  std::vector<ValidateAfter> work;
  std::vector<RequestId> closing;
  std::set<RequestId> gone;
  const std::function<void(const Operations&)> take = [&](const Operations& operations) {
    std::vector<RequestId> made;
    for (const auto& operation : operations) {
      if (const auto* create = std::get_if<Create>(&operation)) {
        outcome.created.push_back(create->request_id);
        made.push_back(create->request_id);
      } else if (const auto* after = std::get_if<ValidateAfter>(&operation)) {
        EXPECT_FALSE(gone.contains(after->request_id));
        work.push_back(*after);
      } else if (const auto* close = std::get_if<Close>(&operation)) {
        EXPECT_FALSE(gone.contains(close->request_id));
        closing.push_back(close->request_id);
      }
    }
    for (const auto& id : made) take(searcher.trial_created(id));
  };
  const auto hash = [](const RequestId& id, std::int64_t length) {
    std::uint64_t sum = static_cast<std::uint64_t>(length);
    for (const char c : id) sum = sum * 1099511628211ull + static_cast<unsigned char>(c);
    return sum;
  };
  take(searcher.start());
  while (!work.empty() || !closing.empty()) {
    if (world.below(10) == 0) searcher = *Searcher::restore(config, searcher.snapshot());
    if (!closing.empty() && (work.empty() || world.below(2) == 0)) {
      const auto at = closing.begin() + world.below(static_cast<std::int64_t>(closing.size()));
      const auto id = *at;
      closing.erase(at);
      gone.insert(id);
      take(searcher.trial_closed(id));
      continue;
    }
    const auto at = work.begin() + world.below(static_cast<std::int64_t>(work.size()));
    const auto next = *at;
    work.erase(at);
    const auto value = hash(next.request_id, next.length);
    if (failures && value % 7 == 0) {
      gone.insert(next.request_id);
      take(searcher.trial_exited_early(next.request_id,
                                       value % 2 == 0 ? ExitedReason::Errored : ExitedReason::InvalidHp));
      take(searcher.trial_closed(next.request_id));
      continue;
    }
    outcome.reached[next.request_id] = next.length;
    take(searcher.validation_completed(next.request_id, static_cast<double>(value % 1000), next.length));
  }
  EXPECT_EQ(searcher.progress(), 1);
  return outcome;
}

TEST(Barrier, TheOrderOfReportsChangesNothing) {
  for (const auto* name : {"async_halving", "adaptive_asha"})
    for (const bool stop_once : {false, true})
      for (const bool failures : {false, true}) {
        const auto config = halving(true, stop_once, name);
        const auto first = play(config, 0, failures);
        EXPECT_GE(first.created.size(), 20u);
        for (std::uint32_t seed = 1; seed < 25; ++seed)
          ASSERT_EQ(play(config, seed, failures), first)
              << name << " " << stop_once << failures << " " << seed;
      }
}

TEST(Barrier, WithoutItTheOrderDecides) {
  const auto config = halving(false, false, "async_halving");
  const auto first = play(config, 0, false);
  int different = 0;
  for (std::uint32_t seed = 1; seed < 25; ++seed) different += play(config, seed, false) != first;
  EXPECT_GT(different, 0) << "else the test above says nothing";
}

}  // namespace
}  // namespace det::search
