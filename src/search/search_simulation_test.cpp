// Runs whole searches against a pretend cluster, thousands of times, each from a
// seed. Trials progress and report in a random order, are told twice, late and
// with NaN, go back to a checkpoint, crash, call their hyperparameters invalid,
// are cancelled; the maximum is made longer; trials that failed are run again;
// the master restarts from a snapshot at any moment. The
// properties below must hold whatever happens. A failing seed replays exactly:
//
//     DET_SEED=8191 ctest -R SearchSimulation

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "det/search/halving/adaptive.h"
#include "det/search/searcher.h"
#include "det/search/testing.h"

namespace det::search {
namespace {

bool is_async(const config::ExperimentConfig& config) {
  return config.searcher.name == "async_halving" || config.searcher.name == "adaptive_asha";
}
bool is_halving(const config::ExperimentConfig& config) {
  return is_async(config) || config.searcher.name.starts_with("adaptive") ||
         config.searcher.name == "sync_halving";
}

config::ExperimentConfig random_config(Random& world) {
  const char* names[] = {"single",   "random",          "grid",        "adaptive_asha", "async_halving",
                         "adaptive", "adaptive_simple", "sync_halving"};
  auto config = testing::search_config(names[world.below(8)], 1 + world.below(30), world.below(8));
  config.experiment_seed = world.bits32();
  config.searcher.max_length.count = 1 + world.below(1000);
  config.searcher.smaller_is_better = world.below(2) == 0;
  const config::Generation generations[] = {config::Generation::Steps, config::Generation::Length,
                                            config::Generation::Time};
  config.generation = generations[world.below(3)];
  config.scheduling_unit = 1 + world.below(100);
  if (is_halving(config)) {
    if (config.generation == config::Generation::Time && !is_async(config))
      config.generation = config::Generation::Length;
    const char* modes[] = {"aggressive", "standard", "conservative"};
    const auto length = config.searcher.max_length.count = 1 + world.below(60);
    config.searcher.fields = {{"name", config.searcher.name},
                              {"mode", modes[world.below(3)]},
                              {"divisor", 1.5 + static_cast<double>(world.below(6)) / 2},
                              {"max_rungs", 1 + world.below(5)},
                              {"num_rungs", 1 + world.below(5)},
                              {"max_trials", config.searcher.max_trials},
                              {"max_concurrent_trials", config.searcher.max_concurrent_trials},
                              {"stop_once", world.below(2) == 0},
                              {"deterministic", world.below(3) == 0},
                              {"budget", length * (2 + world.below(2))},
                              {"target_trial_steps", length},
                              {"step_budget", length * (2 + world.below(2))}};
  } else if (config.generation == config::Generation::Time && world.below(2) == 0) {
    config.searcher.max_length.count = 0;
  }
  config.hyperparameters =
      config.searcher.name == "grid" ? testing::small_grid() : testing::documented_space();
  return config;
}

class World {
 public:
  explicit World(std::uint32_t seed)
      : world_(seed), config_(random_config(world_)), searcher_(*Searcher::make(config_)) {}

  void run() {
    const auto first = searcher_.start();
    started_ = static_cast<std::int64_t>(testing::all_of<Create>(first).size());
    perform(first);
    do {
      for (int events = 0; !open_.empty(); ++events) {
        ASSERT_LT(events, 100'000) << "the search does not end";
        if (world_.below(10) == 0) restart();
        if (world_.below(60) == 0) lengthen();
        happen();
        if (::testing::Test::HasFailure()) return;
      }
      EXPECT_EQ(shutdowns_, 1);
    } while (run_again());
    EXPECT_EQ(searcher_.progress(), 1.0);
    if (config_.searcher.name == "adaptive_asha")
      EXPECT_GE(closed_ - replaced_, config_.searcher.max_trials);
    else
      EXPECT_EQ(closed_ - replaced_, expected_trials());
    EXPECT_EQ(last_.failure, failed_ == closed_);
    EXPECT_EQ(last_.cancel, canceled_ == closed_);
  }

 private:
  struct Trial {
    std::vector<std::int64_t> lengths;
    std::size_t done = 0;
    double units = 0;
    bool closing = false;
    bool exited = false;
  };

  std::int64_t expected_trials() const {
    if (config_.searcher.name == "single") return 1;
    if (is_halving(config_) && !is_async(config_)) return started_;
    return config_.searcher.name == "grid" ? 6 : config_.searcher.max_trials;
  }

  // From its snapshot, by way of its text, the search goes on as if nothing had
  // happened. The old one stays beside it for a while: both must say the same.
  void restart() {
    auto restored = Searcher::restore(config_, *json::parse(json::serialize(searcher_.snapshot())));
    ASSERT_TRUE(restored) << restored.error().message();
    ASSERT_EQ(restored->snapshot(), searcher_.snapshot());
    shadow_ = std::move(searcher_);
    searcher_ = *std::move(restored);
  }

  // Who is open and trains the whole length, or towards the top of a halving, goes on; who is over does not.
  void lengthen() {
    if (config_.generation != config::Generation::Length) return;
    auto longer = config_;
    if (longer.searcher.name == "adaptive_asha") {  // as experiment::reconfigured says it
      const auto brackets = *adaptive_asha_brackets(config_);
      longer.searcher.fields["bracket_rungs"] = json::array(brackets.begin(), brackets.end());
    }
    longer.searcher.max_length.count += 1 + world_.below(40);
    const auto operations = searcher_.reconfigure(longer);
    if (longer.searcher.name == "adaptive" &&
        longer.searcher.max_length.count >= longer.searcher.fields.at("budget").as_int64()) {
      EXPECT_FALSE(operations) << "its budget must be greater";
      return;
    }
    ASSERT_TRUE(operations) << operations.error().message();
    if (shadow_) {
      EXPECT_EQ(*shadow_->reconfigure(longer), *operations);
    }
    config_ = std::move(longer);
    for (const auto& operation : *operations)
      EXPECT_TRUE(std::holds_alternative<ValidateAfter>(operation)) << "longer, and nothing else";
    progress_ = 0;
    perform(*operations);
  }

  // Once it is over, with those that failed or were cancelled, as far as it can have them back.
  bool run_again() {
    if (ended_.empty() || world_.below(2) == 0) return false;
    auto left = std::exchange(ended_, {});
    const auto trials = left;
    shadow_.reset();
    const auto operations = searcher_.run_again(left);
    for (const auto& trial : trials) {
      if (std::ranges::find(left, trial) != left.end()) continue;
      again_.insert(trial.create.request_id);
      --closed_;
      failed_ -= trial.exit == ExitedReason::Errored;
      canceled_ -= trial.exit == ExitedReason::UserCanceled;
    }
    if (again_.empty()) {
      EXPECT_TRUE(operations.empty());
      return false;
    }
    shutdowns_ = 0;
    progress_ = 0;
    perform(operations);
    return true;
  }

  template <typename Tell>
  void tell(Tell tell) {
    const auto operations = tell(searcher_);
    if (shadow_) {
      EXPECT_EQ(tell(*shadow_), operations) << "the restored search decided otherwise";
    }
    perform(operations);
    // What is told twice changes nothing.
    if (world_.below(10) != 0) return;
    EXPECT_TRUE(tell(searcher_).empty());
    if (shadow_) {
      EXPECT_TRUE(tell(*shadow_).empty());
    }
  }

  void happen() {
    auto it = open_.begin();
    std::advance(it, world_.below(static_cast<std::int64_t>(open_.size())));
    const auto id = it->first;
    auto& trial = it->second;
    const auto chance = world_.below(100);
    if (trial.exited || (trial.done == trial.lengths.size() && (trial.closing || trial.lengths.empty())))
      return close(id);
    if (chance < 4) {
      // Who waits in its rung without a process cannot call its hyperparameters invalid.
      const bool waits = is_halving(config_) && trial.done == trial.lengths.size();
      return exit(id, trial, waits ? ExitedReason::UserCanceled : ExitedReason(world_.below(5)));
    }
    if (chance < 8) {  // back to a checkpoint
      trial.units *= world_.unit();
      return;
    }
    if (chance < 12) {  // a validation that nobody asked for
      const auto early = world_.below(trial.done < trial.lengths.size() ? trial.lengths[trial.done] : 1);
      tell([&](Searcher& s) { return s.validation_completed(id, 0, early); });
      return;
    }
    if (chance < 60 && trial.done < trial.lengths.size()) {
      const auto target = static_cast<double>(trial.lengths[trial.done]);
      trial.units += world_.unit() * (target - trial.units) * 1.1;  // may overshoot a little
      searcher_.set_trial_progress(id, trial.units);
      if (shadow_) shadow_->set_trial_progress(id, trial.units);
      return perform({});
    }
    if (trial.done == trial.lengths.size()) return;
    const auto length = trial.lengths[trial.done++];
    const double metrics[] = {world_.unit(), NAN, INFINITY, -INFINITY, 0, std::numeric_limits<double>::max()};
    const double metric = metrics[world_.below(6)];
    tell([&](Searcher& s) { return s.validation_completed(id, metric, length); });
  }

  void exit(const RequestId& id, Trial& trial, ExitedReason reason) {
    trial.exited = true;
    failed_ += reason == ExitedReason::Errored;
    canceled_ += reason == ExitedReason::UserCanceled;
    if (reason == ExitedReason::Errored || reason == ExitedReason::UserCanceled)
      ended_.push_back(
          {.create = creates_.at(id), .validations = static_cast<std::int64_t>(trial.done), .exit = reason});
    replaced_ +=
        (config_.searcher.name == "random" || is_async(config_)) && says_invalid_hyperparameters(reason);
    tell([&](Searcher& s) { return s.trial_exited_early(id, reason); });
  }

  void close(const RequestId& id) {
    open_.erase(id);
    ++closed_;
    const auto name = id;
    tell([&](Searcher& s) { return s.trial_closed(name); });
  }

  void perform(const Operations& operations) {
    std::vector<RequestId> created;
    for (const auto& operation : operations) {
      EXPECT_EQ(shutdowns_, 0) << "the search went on after its shutdown";
      if (const auto* create = std::get_if<Create>(&operation)) {
        EXPECT_TRUE(creates_.emplace(create->request_id, *create).second || again_.erase(create->request_id))
            << "a request id was used again";
        EXPECT_GE(create->trial_seed, 0);
        EXPECT_LT(create->trial_seed, std::int64_t{1} << 31);
        open_.try_emplace(create->request_id);
        created.push_back(create->request_id);
      } else if (const auto* after = std::get_if<ValidateAfter>(&operation)) {
        ASSERT_TRUE(open_.contains(after->request_id)) << "asked something of a closed trial";
        open_[after->request_id].lengths.push_back(after->length);
      } else if (const auto* close = std::get_if<Close>(&operation)) {
        ASSERT_TRUE(open_.contains(close->request_id)) << "closed a trial that is not open";
        EXPECT_FALSE(open_[close->request_id].closing) << "closed a trial twice";
        EXPECT_FALSE(open_[close->request_id].exited) << "closed a trial that has exited";
        open_[close->request_id].closing = true;
      } else {
        ++shutdowns_;
        last_ = std::get<Shutdown>(operation);
        EXPECT_TRUE(open_.empty()) << "shut down with trials open";
      }
    }
    const auto limit =
        config_.generation == config::Generation::Steps ? 0 : config_.searcher.max_concurrent_trials;
    // A trial of a halving search that waits in its rung holds no slots.
    const auto busy = std::count_if(open_.begin(), open_.end(), [&](const auto& open) {
      return !is_halving(config_) || (!open.second.exited && open.second.done < open.second.lengths.size());
    });
    EXPECT_TRUE(limit == 0 || (is_halving(config_) && !is_async(config_)) ||
                busy <= std::max<std::int64_t>(limit, is_async(config_) ? 5 : 0));
    EXPECT_GE(searcher_.progress(), progress_) << "progress dropped";
    EXPECT_LE(searcher_.progress(), 1.0);
    progress_ = searcher_.progress();
    for (const auto& id : created) tell([&](Searcher& s) { return s.trial_created(id); });
  }

  Random world_;
  config::ExperimentConfig config_;
  Searcher searcher_;
  std::optional<Searcher> shadow_;
  std::map<RequestId, Trial> open_;
  std::map<RequestId, Create> creates_;
  std::vector<Again> ended_;   // trials that failed or were cancelled
  std::set<RequestId> again_;  // of those, the ones that the search is to create again
  std::int64_t started_ = 0, closed_ = 0, replaced_ = 0, failed_ = 0, canceled_ = 0;
  int shutdowns_ = 0;
  Shutdown last_;
  double progress_ = 0;
};

void simulate(std::uint32_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  World(seed).run();
}

TEST(SearchSimulation, EverySearchEndsAndKeepsItsPromises) {
  if (const char* seed = std::getenv("DET_SEED"))
    return simulate(static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)));
  for (std::uint32_t seed = 0; seed < 1500 && !::testing::Test::HasFailure(); ++seed) simulate(seed);
}

}  // namespace
}  // namespace det::search
