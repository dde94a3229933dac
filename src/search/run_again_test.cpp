// A search that goes on with trials that had failed.

#include <gtest/gtest.h>

#include <functional>

#include "det/search/player.h"

namespace det::search {
namespace {

using testing::halving;
using testing::halvings;
using testing::Player;

/// Lets trials fail that `fails` names by their number, and plays to the end.
std::vector<Again> finish_with_failures(Player& player, const std::function<bool(std::size_t)>& fails) {
  std::vector<Again> ended;
  std::map<RequestId, std::int64_t> validations;
  for (bool more = true; more;) {
    while (!player.queue.empty() && fails(player.numbers.at(player.queue.front().request_id))) {
      const auto id = player.queue.front().request_id;
      player.queue.pop_front();
      player.closing.erase(id);
      ended.push_back({.create = player.creates.at(id), .validations = validations[id]});
      player.take(player.searcher.trial_exited_early(id, ExitedReason::Errored));
      player.take(player.searcher.trial_closed(id));
    }
    if (!player.queue.empty()) ++validations[player.queue.front().request_id];
    more = player.step();
  }
  return ended;
}

TEST(RunAgain, TrialsThatFailedHaveTheResultsThatTheyWouldHaveHad) {
  for (const auto* name : {"random", "grid", "tpe"}) {
    SCOPED_TRACE(name);
    auto config = testing::search_config(name, 6, 2);
    config.hyperparameters =
        config.searcher.name == "grid" ? testing::small_grid() : testing::documented_space();
    Player player(config);
    auto failed = finish_with_failures(player, [](std::size_t number) { return number % 2 == 1; });
    ASSERT_EQ(failed.size(), 3u);
    ASSERT_EQ(player.shutdowns, 1);
    player.most = 0;
    player.take(player.searcher.run_again(failed));
    EXPECT_TRUE(failed.empty()) << "all were taken back";
    EXPECT_EQ(player.queue.size(), 2u) << "max_concurrent_trials";
    EXPECT_LT(player.searcher.progress(), 1);
    const auto restored =
        Searcher::restore(config, *json::parse(json::serialize(player.searcher.snapshot())));
    ASSERT_TRUE(restored) << restored.error().message();
    EXPECT_EQ(restored->snapshot(), player.searcher.snapshot());
    player.finish();
    EXPECT_EQ(player.reached.size(), 6u);
    EXPECT_EQ(player.numbers.size(), 6u) << "and none is new";
    EXPECT_EQ(player.shutdowns, 2);
    EXPECT_FALSE(player.last.failure);
    EXPECT_EQ(player.searcher.progress(), 1);
  }
}

TEST(RunAgain, TrialsOfAnAsynchronousHalvingTakeTheirPlaceInTheRungAgain) {
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& one = halvings()[i];
    for (const bool all : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {} {}", one.searcher, i, all));
      Player player(halving(one, 90));
      auto failed = finish_with_failures(player, [&](std::size_t number) { return all || number == 0; });
      ASSERT_EQ(player.shutdowns, 1);
      EXPECT_EQ(player.last.failure, all);
      const auto created = player.numbers.size();
      player.take(player.searcher.run_again(failed));
      EXPECT_TRUE(failed.empty()) << "all were taken back";
      player.finish();
      EXPECT_EQ(player.numbers.size(), created) << "none is new";
      EXPECT_EQ(player.reached.size(), created);
      EXPECT_EQ(player.shutdowns, 2);
      EXPECT_FALSE(player.last.failure);
      EXPECT_EQ(player.searcher.progress(), 1);
      std::int64_t longest = 0;
      for (const auto& [id, length] : player.reached) longest = std::max(longest, length);
      EXPECT_EQ(longest, 90) << "the search that had failed finds its best";
    }
  }
}

TEST(RunAgain, ASynchronousHalvingHasJudgedThoseThatFailedAndDoesNotHaveThemBack) {
  Player player(halving(halvings()[4], 90));
  auto failed = finish_with_failures(player, [](std::size_t number) { return number == 0; });
  const auto before = json::serialize(player.searcher.snapshot());
  EXPECT_TRUE(player.searcher.run_again(failed).empty());
  EXPECT_EQ(failed.size(), 1u);
  EXPECT_EQ(json::serialize(player.searcher.snapshot()), before);
}

}  // namespace
}  // namespace det::search
