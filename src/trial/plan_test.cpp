#include "det/trial/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "det/base/random.h"

namespace det::trial {

void PrintTo(const Action& action, std::ostream* out) {
  if (const auto* train = std::get_if<Train>(&action)) *out << "Train " << train->batches;
  if (std::holds_alternative<Validate>(action)) *out << "Validate";
  if (const auto* save = std::get_if<Checkpoint>(&action))
    *out << "Checkpoint " << static_cast<int>(save->reason);
  if (const auto* done = std::get_if<CompleteOperation>(&action))
    *out << "CompleteOperation " << done->length;
  if (std::holds_alternative<Wait>(action)) *out << "Wait";
  if (const auto* exit = std::get_if<Exit>(&action)) *out << (exit->preempted ? "Exit preempted" : "Exit");
}

namespace {

using config::CheckpointPolicy;
using enum CheckpointReason;

struct PlanCase {
  const char* name;
  // state: batches trained, at validation, at checkpoint; operations done; best
  std::int64_t trained, validated, saved, done;
  bool best;
  // config: policy, initial validation, validation period, checkpoint period
  CheckpointPolicy policy;
  bool initial;
  std::int64_t validation, checkpoint;
  // wishes
  std::vector<std::int64_t> lengths;
  bool closed, preempt, stop;
  Action expected;
};

class Plan : public ::testing::TestWithParam<PlanCase> {};

TEST_P(Plan, TakesTheFirstRuleThatMatches) {
  const auto& c = GetParam();
  const LoopConfig config{.checkpoint_policy = c.policy,
                          .perform_initial_validation = c.initial,
                          .min_validation_period = c.validation,
                          .min_checkpoint_period = c.checkpoint,
                          .scheduling_unit = 100};
  const LoopState state{.batches_trained = c.trained,
                        .batches_validated = c.validated,
                        .batches_checkpointed = c.saved,
                        .operations_done = c.done,
                        .best = c.best ? std::optional(0.5) : std::nullopt,
                        .validation_is_best = c.best};
  EXPECT_EQ(next_action(config, state, {c.lengths, c.closed, c.preempt, c.stop}), c.expected);
}

constexpr auto kAll = CheckpointPolicy::All;
constexpr auto kBest = CheckpointPolicy::Best;
constexpr auto kNone = CheckpointPolicy::None;
constexpr bool no = false;
constexpr bool yes = true;

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Plan, ::testing::Values(
    //       name                                     trained val saved done best  policy init val ckpt  lengths     closed preempt stop  expected
    PlanCase{"a_new_trial_trains_a_scheduling_unit",        0, -1,  -1, 0,  no,  kBest, no,   0,   0,  {1000},     no,  no,  no,  Train{100}},
    PlanCase{"initial_validation_comes_first",              0, -1,  -1, 0,  no,  kBest, yes,  0,   0,  {1000},     no,  no,  no,  Validate{}},
    PlanCase{"initial_validation_happens_once",             0,  0,  -1, 0,  yes, kAll,  yes,  0,   0,  {1000},     no,  no,  no,  Train{100}},
    PlanCase{"initial_validation_only_at_batch_zero",     100, -1, 100, 0,  no,  kBest, yes,  0,   0,  {1000},     no,  no,  no,  Train{100}},
    PlanCase{"preemption_goes_before_initial_validation",   0, -1,  -1, 0,  no,  kBest, yes,  0,   0,  {1000},     no,  yes, no,  Exit{true}},
    PlanCase{"preemption_saves_first",                    200, -1, 100, 0,  no,  kBest, no,   0,   0,  {1000},     no,  yes, no,  Checkpoint{Preempt}},
    PlanCase{"preemption_with_all_saved_exits",           200, -1, 200, 0,  no,  kBest, no,   0,   0,  {1000},     no,  yes, no,  Exit{true}},
    PlanCase{"preemption_goes_before_due_validation",     200, -1, 200, 0,  no,  kBest, no, 100,   0,  {200},      no,  yes, no,  Exit{true}},
    PlanCase{"stop_saves_first",                          200, -1, 100, 0,  no,  kBest, no,   0,   0,  {1000},     no,  no,  yes, Checkpoint{Stop}},
    PlanCase{"stop_exits_for_good",                       200, -1, 200, 0,  no,  kBest, no,   0,   0,  {1000},     no,  no,  yes, Exit{false}},
    PlanCase{"policy_best_saves_a_best_validation",       200,200,  -1, 0,  yes, kBest, no, 200,   0,  {1000},     no,  no,  no,  Checkpoint{Validation}},
    PlanCase{"policy_best_ignores_a_worse_validation",    200,200,  -1, 0,  no,  kBest, no, 200,   0,  {1000},     no,  no,  no,  Train{100}},
    PlanCase{"policy_all_saves_a_worse_validation",       200,200,  -1, 0,  no,  kAll,  no, 200,   0,  {1000},     no,  no,  no,  Checkpoint{Validation}},
    PlanCase{"policy_none_saves_no_validation",           200,200,  -1, 0,  yes, kNone, no, 200,   0,  {1000},     no,  no,  no,  Train{100}},
    PlanCase{"policy_saves_the_same_batches_once",        200,200, 200, 0,  yes, kAll,  no, 200,   0,  {1000},     no,  no,  no,  Train{100}},
    PlanCase{"policy_ignores_an_old_validation",          300,200,  -1, 0,  yes, kAll,  no, 200,   0,  {1000},     no,  no,  no,  Train{100}},
    PlanCase{"validation_is_due_at_its_period",           200, -1,  -1, 0,  no,  kBest, no, 200,   0,  {1000},     no,  no,  no,  Validate{}},
    PlanCase{"validation_goes_before_checkpoint",         200, -1,  -1, 0,  no,  kBest, no, 200, 200,  {1000},     no,  no,  no,  Validate{}},
    PlanCase{"checkpoint_is_due_at_its_period",           200,100, 100, 0,  no,  kBest, no,   0, 200,  {1000},     no,  no,  no,  Checkpoint{Period}},
    PlanCase{"checkpoint_of_a_preemption_moves_no_period",150, -1, 150, 0,  no,  kBest, no,   0, 200,  {1000},     no,  no,  no,  Train{50}},
    PlanCase{"a_chunk_ends_at_the_operation",             950, -1,  -1, 0,  no,  kBest, no,   0,   0,  {1000},     no,  no,  no,  Train{50}},
    PlanCase{"a_chunk_ends_at_the_validation_period",     160, -1,  -1, 0,  no,  kBest, no, 170,   0,  {1000},     no,  no,  no,  Train{10}},
    PlanCase{"a_chunk_ends_at_the_checkpoint_period",     160, -1,  -1, 0,  no,  kBest, no, 190, 180,  {1000},     no,  no,  no,  Train{20}},
    PlanCase{"an_operation_is_saved_first",              1000, -1, 900, 0,  no,  kBest, no,   0,   0,  {1000},     no,  no,  no,  Checkpoint{Operation}},
    PlanCase{"then_validated",                           1000,900,1000, 0,  no,  kBest, no,   0,   0,  {1000},     no,  no,  no,  Validate{}},
    PlanCase{"then_completed",                           1000,1000,1000,0,  yes, kBest, no,   0,   0,  {1000},     no,  no,  no,  CompleteOperation{1000}},
    PlanCase{"a_periodic_validation_serves_an_operation",1000,1000, 900,0,  no,  kBest, no,1000,   0,  {1000},     no,  no,  no,  Checkpoint{Operation}},
    PlanCase{"a_shorter_operation_than_trained_completes",1000,1000,1000,0, no,  kBest, no,   0,   0,  {500},      no,  no,  no,  CompleteOperation{500}},
    PlanCase{"the_next_operation_goes_on",               1000,1000,1000,1,  yes, kBest, no,   0,   0,  {1000,3000},no,  no,  no,  Train{100}},
    PlanCase{"a_resumed_trial_repeats_an_operation",      900, -1, 900, 0,  no,  kBest, no,   0,   0,  {1000,3000},no,  no,  no,  Train{100}},
    PlanCase{"without_operations_it_waits",              1000,1000,1000,1,  yes, kBest, no,   0,   0,  {1000},     no,  no,  no,  Wait{}},
    PlanCase{"before_the_first_operation_it_waits",         0, -1,  -1, 0,  no,  kBest, no,   0,   0,  {},         no,  no,  no,  Wait{}},
    PlanCase{"a_closed_trial_saves",                     1000,1000, 900,1,  no,  kBest, no,   0,   0,  {1000},     yes, no,  no,  Checkpoint{End}},
    PlanCase{"a_closed_trial_exits",                     1000,1000,1000,1,  yes, kBest, no,   0,   0,  {1000},     yes, no,  no,  Exit{false}},
    PlanCase{"a_closed_trial_still_finishes_operations",  900, -1,  -1, 0,  no,  kBest, no,   0,   0,  {1000},     yes, no,  no,  Train{100}}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(LoopState, AValidationIsTheBestUnlessThisTrialDidBetterAndTiesAreBest) {
  LoopState state;
  state.validate(0.5, true);
  EXPECT_TRUE(state.validation_is_best);
  state.validate(0.5, true);
  EXPECT_TRUE(state.validation_is_best);
  state.validate(0.6, true);
  EXPECT_FALSE(state.validation_is_best);
  state.validate(0.4, true);
  EXPECT_TRUE(state.validation_is_best);
  EXPECT_EQ(state.best, 0.4);
}

TEST(LoopState, AValidationThatAnotherTrialBeatsIsNotTheBestThoughItMayBeItsOwnTrials) {
  LoopState state;
  state.validate(0.5, true, 0.4);
  EXPECT_FALSE(state.validation_is_best);
  EXPECT_EQ(state.best, 0.5);
  state.validate(0.4, true, 0.4);
  EXPECT_TRUE(state.validation_is_best);
  state.validate(0.9, false, 0.8);
  EXPECT_TRUE(state.validation_is_best);
}

TEST(LoopState, NaNIsNeverTheBestWhicheverWayIsBetter) {
  for (const bool smaller_is_better : {true, false}) {
    LoopState state;
    state.validate(std::nan(""), smaller_is_better);
    EXPECT_FALSE(state.validation_is_best);
    EXPECT_FALSE(state.best);
    EXPECT_TRUE(state.validated());
    state.validate(smaller_is_better ? 1e300 : -1e300, smaller_is_better, std::nan(""));
    EXPECT_TRUE(state.validation_is_best);
    state.validate(std::nan(""), smaller_is_better);
    EXPECT_FALSE(state.validation_is_best);
  }
}

TEST(LoopState, ReturnsFromItsCheckpointAsItWas) {
  LoopState state{
      .batches_trained = 200, .batches_validated = 100, .batches_checkpointed = 200, .operations_done = 1};
  EXPECT_EQ(*LoopState::from_json(state.to_json()), state);
  state.best = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(*LoopState::from_json(state.to_json()), state);
}

TEST(LoopState, RefusesOneThatDoesNotAddUp) {
  for (const auto& state :
       {LoopState{.batches_trained = -1}, LoopState{.batches_trained = 5, .batches_validated = 6},
        LoopState{.batches_trained = 5, .batches_checkpointed = 6}})
    EXPECT_FALSE(LoopState::from_json(state.to_json()));
}

// Plays whole trials. A disturbed run is preempted and killed at random
// places, resumes from its newest checkpoint, and must repeat exactly what the
// undisturbed run did from there. Replay: DET_SEED=… det_trial_test.

struct Effect {
  char kind;  // 't'rain, 'v'alidate, 'c'omplete
  std::int64_t from, to;
  friend bool operator==(const Effect&, const Effect&) = default;
};
void PrintTo(const Effect& effect, std::ostream* out) {
  *out << effect.kind << effect.from << "-" << effect.to;
}

struct World {
  LoopConfig config;
  std::vector<std::int64_t> lengths;
  std::int64_t known_ahead;  // how many operations the master shows before earlier ones are completed
  std::uint32_t seed;

  double metric(std::int64_t batches) const {
    Random random(seed + static_cast<std::uint32_t>(batches));
    return random.below(20) == 0 ? std::nan("") : static_cast<double>(random.below(6));
  }
};

World random_world(std::uint32_t seed) {
  Random random(seed);
  World world;
  world.seed = seed;
  world.config.checkpoint_policy = std::array{kAll, kBest, kNone}[static_cast<std::size_t>(random.below(3))];
  world.config.smaller_is_better = random.below(2) == 0;
  world.config.perform_initial_validation = random.below(2) == 0;
  world.config.min_validation_period = random.below(2) == 0 ? 0 : 1 + random.below(30);
  world.config.min_checkpoint_period = random.below(2) == 0 ? 0 : 1 + random.below(30);
  world.config.scheduling_unit = 1 + random.below(20);
  std::int64_t length = 0;
  for (auto n = random.below(4); n >= 0; --n) world.lengths.push_back(length += 1 + random.below(40));
  world.known_ahead = 1 + random.below(3);
  return world;
}

/// Runs to the end and returns what was done; each effect is compared with `undisturbed` where given.
std::vector<Effect> play(const World& world, Random* faults, const std::vector<Effect>* undisturbed) {
  std::vector<Effect> done;
  LoopState state;
  LoopState saved;           // the newest checkpoint
  std::size_t saved_at = 0;  // how many effects it stands for
  std::int64_t completed = 0;
  bool preempt = false;
  for (int turns = 0; turns < 100'000; ++turns) {
    if (faults != nullptr && faults->below(12) == 0) preempt = true;
    if (faults != nullptr && faults->below(25) == 0) {  // kill -9
      state = saved;
      done.resize(saved_at);
      preempt = false;
    }
    const auto shown = std::min<std::int64_t>(std::ssize(world.lengths), completed + world.known_ahead);
    const std::vector lengths(world.lengths.begin(), world.lengths.begin() + shown);
    const bool closed = completed == std::ssize(world.lengths);
    const auto action = next_action(world.config, state, {lengths, closed, preempt, false});

    if (const auto* train = std::get_if<Train>(&action)) {
      EXPECT_GE(train->batches, 1);
      EXPECT_LE(train->batches, world.config.scheduling_unit);
      done.push_back({'t', state.batches_trained, state.batches_trained + train->batches});
      state.train(train->batches);
    } else if (std::holds_alternative<Validate>(action)) {
      EXPECT_FALSE(state.validated()) << "validated the same batches twice";
      done.push_back({'v', state.batches_trained, state.batches_trained});
      state.validate(world.metric(state.batches_trained), world.config.smaller_is_better);
    } else if (std::holds_alternative<Checkpoint>(action)) {
      EXPECT_TRUE(state.unsaved()) << "saved the same batches twice";
      state.checkpoint();
      saved = *LoopState::from_json(state.to_json());
      saved_at = done.size();
    } else if (const auto* complete = std::get_if<CompleteOperation>(&action)) {
      EXPECT_TRUE(state.validated());
      done.push_back({'c', complete->length, complete->length});
      state.complete_operation();
      completed = std::max(completed, state.operations_done);
    } else if (const auto* exit = std::get_if<Exit>(&action)) {
      if (!exit->preempted) return done;
      EXPECT_FALSE(state.unsaved()) << "a preemption lost work";
      state = saved;
      done.resize(saved_at);
      preempt = false;
    } else {
      ADD_FAILURE() << "waits although operations are open";
      return done;
    }
    if (undisturbed != nullptr && !done.empty()) {
      EXPECT_LE(done.size(), undisturbed->size());
      if (::testing::Test::HasFailure()) return done;
      EXPECT_EQ(done.back(), (*undisturbed)[done.size() - 1]) << "effect " << done.size();
    }
    if (::testing::Test::HasFailure()) return done;
  }
  ADD_FAILURE() << "the trial never ends";
  return done;
}

void compare(std::uint32_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const World world = random_world(seed);
  const auto undisturbed = play(world, nullptr, nullptr);
  EXPECT_EQ(undisturbed.back(), (Effect{'c', world.lengths.back(), world.lengths.back()}));
  Random faults(seed + 1'000'003);
  EXPECT_EQ(play(world, &faults, &undisturbed), undisturbed);
}

TEST(PlanSimulation, AnInterruptedRunDoesWhatAnUndisturbedOneDoes) {
  if (const char* seed = std::getenv("DET_SEED"))
    return compare(static_cast<std::uint32_t>(std::stoul(seed)));
  for (std::uint32_t seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) compare(seed);
}

TEST(LoopConfig, SaysWhatEpochsNeed) {
  config::ExperimentConfig config;
  config.min_validation_period = {.unit = config::Unit::Epochs, .count = 1};
  const auto without_records = loop_config(config, 64);
  ASSERT_FALSE(without_records);
  EXPECT_EQ(without_records.error().message(),
            "records_per_epoch is 0; it must be at least 1, because min_validation_period is in epochs");
  config.records_per_epoch = 60000;
  EXPECT_EQ(loop_config(config, 64)->min_validation_period, 937);
  const auto without_batch_size = loop_config(config, 0);
  ASSERT_FALSE(without_batch_size);
  EXPECT_EQ(without_batch_size.error().message(),
            "hyperparameters.global_batch_size is 0; it must be at least 1, because min_validation_period is "
            "in epochs");
}

TEST(Units, AreAtLeastOneBatch) {
  EXPECT_EQ((Units{config::Unit::Records, 64, 0}.batches(640)), 10);
  EXPECT_EQ((Units{config::Unit::Records, 64, 0}.batches(3)), 1);
  EXPECT_EQ((Units{config::Unit::Batches, 64, 0}.batches(7)), 7);
}

}  // namespace
}  // namespace det::trial
