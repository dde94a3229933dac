// A search that goes on with other sizes: more trials, longer ones, another number at a time.

#include <gtest/gtest.h>

#include "det/search/player.h"

namespace det::search {
namespace {

using testing::halving;
using testing::halvings;
using testing::Player;

config::ExperimentConfig asha(std::int64_t trials, bool stop_once = false, std::int64_t concurrent = 2) {
  auto config = testing::search_config("async_halving", trials, concurrent);
  config.hyperparameters = testing::documented_space();
  config.searcher.max_length.count = 90;
  config.searcher.fields = {
      {"name", "async_halving"}, {"num_rungs", 3},         {"divisor", 3},
      {"max_trials", trials},    {"stop_once", stop_once}, {"max_concurrent_trials", concurrent}};
  return config;
}
config::ExperimentConfig random_search(std::int64_t trials, std::int64_t concurrent) {
  auto config = testing::search_config("random", trials, concurrent);
  config.hyperparameters = testing::documented_space();
  return config;
}

TEST(Resize, MoreTrialsOfARandomSearchAreThoseThatItWouldHaveHadFromTheBeginning) {
  Player grown(random_search(3, 2));
  grown.step();
  ASSERT_TRUE(grown.reconfigure(random_search(7, 2)));
  grown.finish();
  Player whole(random_search(7, 2));
  whole.finish();
  EXPECT_EQ(grown.hparams, whole.hparams);
  EXPECT_EQ(grown.shutdowns, 1);
  EXPECT_EQ(grown.searcher.progress(), 1);
}

TEST(Resize, ASearchThatIsOverGoesOnWithMoreTrialsAndNotWithoutAny) {
  Player player(random_search(3, 2));
  player.finish();
  EXPECT_EQ(player.shutdowns, 1);
  const auto before = json::serialize(player.searcher.snapshot());
  const auto nothing = player.reconfigure(random_search(3, 5));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().message(), "the search has ended, and these sizes add nothing to it");
  EXPECT_EQ(json::serialize(player.searcher.snapshot()), before);
  ASSERT_TRUE(player.reconfigure(random_search(5, 2)));
  EXPECT_LT(player.searcher.progress(), 1) << "of a larger whole";
  player.finish();
  EXPECT_EQ(player.hparams.size(), 5u);
  EXPECT_EQ(player.shutdowns, 2);
}

TEST(Resize, MoreAtATimeBeginAtOnceAndFewerAsTrialsEnd) {
  Player player(random_search(9, 2));
  ASSERT_TRUE(player.reconfigure(random_search(9, 4)));
  EXPECT_EQ(player.hparams.size(), 4u);
  ASSERT_TRUE(player.reconfigure(random_search(9, 1)));
  for (int i = 0; i < 4; ++i) player.step();  // all four validate
  for (int i = 0; i < 3; ++i) player.step();  // three of them close
  EXPECT_EQ(player.hparams.size(), 4u) << "one is open still";
  player.finish();
  EXPECT_EQ(player.hparams.size(), 9u);
}

TEST(Resize, LongerTrialsGoOnWhereTheyAreAndThoseThatEndedStay) {
  Player player(random_search(4, 2));
  for (int i = 0; i < 3; ++i) player.step();  // two validate; one closes, and the third begins
  auto longer = random_search(4, 2);
  longer.searcher.max_length.count = 250;
  ASSERT_TRUE(player.reconfigure(longer));
  player.finish();
  std::multiset<std::int64_t> lengths;
  for (const auto& [id, length] : player.reached) lengths.insert(length);
  EXPECT_EQ(lengths, (std::multiset<std::int64_t>{100, 250, 250, 250}));
  EXPECT_EQ(player.shutdowns, 1);
}

TEST(Resize, MoreTrialsOfALiveHalvingAreThoseThatItWouldHaveHadFromTheBeginning) {
  for (const bool stop_once : {false, true}) {
    Player grown(asha(9, stop_once));
    for (int i = 0; i < 5; ++i) grown.step();
    ASSERT_TRUE(grown.reconfigure(asha(27, stop_once)));
    grown.finish();
    Player whole(asha(27, stop_once));
    whole.finish();
    EXPECT_EQ(grown.hparams, whole.hparams);
    EXPECT_EQ(grown.reached, whole.reached);
    EXPECT_EQ(grown.shutdowns, 1);
  }
}

TEST(Resize, AHalvingThatIsOverTriesMoreAndWhoLostStaysOut) {
  for (const bool stop_once : {false, true}) {
    Player player(asha(9, stop_once));
    player.finish();
    const auto before = player.reached;
    ASSERT_TRUE(player.reconfigure(asha(12, stop_once)));
    player.finish();
    EXPECT_EQ(player.hparams.size(), 12u);
    EXPECT_EQ(player.shutdowns, 2);
    EXPECT_EQ(player.searcher.progress(), 1);
    for (const auto& [id, length] : before) EXPECT_EQ(player.reached.at(id), length);
  }
}

TEST(Resize, MoreConcurrencyOfAHalvingBeginsAtOnce) {
  Player player(asha(20));
  ASSERT_TRUE(player.reconfigure(asha(20, false, 6)));
  EXPECT_EQ(player.queue.size(), 6u);
  ASSERT_TRUE(player.reconfigure(asha(20, false, 1)));
  player.most = 0;
  for (int i = 0; i < 8; ++i) player.step();
  EXPECT_EQ(player.queue.size(), 1u) << "as they validate, none follows until one is left";
  player.finish();
  EXPECT_EQ(player.hparams.size(), 20u);
}

TEST(Resize, AResizedSearchGoesOnFromItsSnapshot) {
  Player player(asha(9));
  for (int i = 0; i < 4; ++i) player.step();
  ASSERT_TRUE(player.reconfigure(asha(15, false, 4)));
  auto restored =
      Searcher::restore(asha(15, false, 4), *json::parse(json::serialize(player.searcher.snapshot())));
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(restored->snapshot(), player.searcher.snapshot());
  const auto next = player.queue.front();
  EXPECT_EQ(restored->validation_completed(next.request_id, 3, next.length),
            player.searcher.validation_completed(next.request_id, 3, next.length));
}

TEST(Resize, ALongerMaximumOfAHalvingMovesItsTopAndNoOtherRung) {
  for (const auto& one : halvings()) {
    SCOPED_TRACE(one.searcher);
    Player player(halving(one, 90));
    player.finish();
    std::set<std::int64_t> before;
    for (const auto& [id, length] : player.reached) before.insert(length);

    Player longer(halving(one, 90));
    for (int i = 0; i < 3; ++i) longer.step();
    ASSERT_TRUE(longer.reconfigure(halving(one, 200)));
    longer.finish();
    std::set<std::int64_t> after;
    for (const auto& [id, length] : longer.reached) after.insert(length);
    ASSERT_TRUE(before.erase(90));
    before.insert(200);
    EXPECT_EQ(after, before) << "nobody had come to the top";
    EXPECT_EQ(longer.hparams, player.hparams);
    EXPECT_EQ(longer.shutdowns, 1);
    EXPECT_EQ(longer.searcher.progress(), 1);
  }
}

TEST(Resize, WhoIsOnTheWayToTheTopGoesOnAndWhoWasThereStays) {
  const auto at_top = [](const Player& player, std::int64_t top) {
    return std::ranges::count_if(player.reached, [&](const auto& trial) { return trial.second == top; });
  };
  const auto on_the_way = [](const Player& player) {
    return std::ranges::count_if(player.queue, [](const auto& next) { return next.length == 90; });
  };
  for (const auto& one : halvings()) {
    SCOPED_TRACE(one.searcher);
    int last = 0;  // step before which somebody is on the way to the top
    Player whole(halving(one, 90));
    for (int i = 1; whole.step(); ++i)
      if (on_the_way(whole) > 0) last = i;
    Player player(halving(one, 90));
    for (int i = 0; i < last; ++i) player.step();
    const auto there = at_top(player, 90), under_way = on_the_way(player);
    ASSERT_TRUE(player.reconfigure(halving(one, 150)));
    const auto restored =
        Searcher::restore(halving(one, 150), *json::parse(json::serialize(player.searcher.snapshot())));
    ASSERT_TRUE(restored) << restored.error().message();
    EXPECT_EQ(restored->snapshot(), player.searcher.snapshot());
    ASSERT_TRUE(player.reconfigure(halving(one, 200))) << "and once more";
    player.finish();
    EXPECT_EQ(at_top(player, 90), there) << "those that were closed there";
    EXPECT_GE(at_top(player, 200), under_way);
    EXPECT_EQ(player.hparams, whole.hparams);
    EXPECT_EQ(player.shutdowns, 1);
  }
}

TEST(Resize, ASnapshotOfAHalvingThatDoesNotSayItsLengthsHasThoseOfItsConfiguration) {
  const auto forget = [](auto&& self, json::value& value) -> void {
    if (auto* object = value.if_object()) {
      object->erase("units_needed");
      object->erase("laid");
      for (auto& [key, inner] : *object) self(self, inner);
    } else if (auto* array = value.if_array()) {
      for (auto& inner : *array) self(self, inner);
    }
  };
  for (const auto& one : halvings()) {
    SCOPED_TRACE(one.searcher);
    Player player(halving(one, 90));
    for (int i = 0; i < 5; ++i) player.step();
    auto old = player.searcher.snapshot();
    forget(forget, old);
    const auto restored = Searcher::restore(halving(one, 90), old);
    ASSERT_TRUE(restored) << restored.error().message();
    EXPECT_EQ(restored->snapshot(), player.searcher.snapshot());
  }
}

TEST(Resize, RungsThatTheDivisorMakesEqualAreAUnitApart) {
  for (const bool stop_once : {false, true}) {
    auto config = asha(30, stop_once, 3);
    config.searcher.max_length.count = 4;
    config.searcher.fields["num_rungs"] = 5;
    config.searcher.fields["divisor"] = 2;
    Player player(config);
    player.finish();
    EXPECT_EQ(player.shutdowns, 1) << "nobody is asked for what it has done, and waits for ever";
    EXPECT_EQ(player.searcher.progress(), 1);
  }
}

config::ExperimentConfig population(std::int64_t rounds) {
  auto config = testing::search_config("pbt");
  config.hyperparameters = testing::documented_space();
  config.searcher.fields = {{"name", "pbt"},
                            {"population_size", 6},
                            {"num_rounds", rounds},
                            {"length_per_round", {{"batches", 50}}},
                            {"replace_function", {{"truncate_fraction", 0.34}}},
                            {"explore_function", {{"resample_probability", 0.2}, {"perturb_factor", 0.2}}}};
  return config;
}

TEST(Resize, MoreRoundsOfAPopulationAreThoseThatItWouldHaveHadFromTheBeginning) {
  Player whole(population(5));
  whole.finish();
  for (int steps = 0; steps < 12; ++steps) {  // six report in each of the two rounds
    Player grown(population(2));
    for (int i = 0; i < steps; ++i) grown.step();
    ASSERT_TRUE(grown.reconfigure(population(5))) << "after " << steps << " reports";
    EXPECT_LE(grown.searcher.progress(), 2.0 / 5);
    const auto restored = Searcher::restore(population(5), grown.searcher.snapshot());
    ASSERT_TRUE(restored) << restored.error().message();
    grown.finish();
    EXPECT_EQ(grown.hparams, whole.hparams);
    EXPECT_EQ(grown.reached, whole.reached);
    EXPECT_EQ(grown.shutdowns, 1);
    EXPECT_EQ(grown.searcher.progress(), 1);
  }
}

TEST(Resize, APopulationThatHasHadItsLastRoundHasNoMore) {
  Player player(population(2));
  for (int i = 0; i < 12; ++i) player.step();
  EXPECT_FALSE(player.closing.empty()) << "the search lives still";
  for (int i = 0; i < 2; ++i, player.finish()) {
    const auto before = json::serialize(player.searcher.snapshot());
    const auto refused = player.reconfigure(population(3));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), "all 2 rounds of the search have ended; it cannot get more rounds");
    EXPECT_EQ(json::serialize(player.searcher.snapshot()), before);
  }
}

}  // namespace
}  // namespace det::search
