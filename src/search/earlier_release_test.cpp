// Searches that an earlier release had saved go on: tests/golden/search_snapshots.json was written before
// snapshots had columns, by what `saved_search` plays, without the stream of random numbers.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "det/search/player.h"

namespace det::search {
namespace {

using testing::halving;
using testing::halvings;
using testing::Player;

Player saved_search(const testing::Halving& one) {
  Player player(halving(one, 90));
  for (int step = 0; step < 9; ++step) player.step();
  player.take(player.searcher.trial_exited_early(player.queue.back().request_id, ExitedReason::Errored));
  return player;
}

TEST(EarlierRelease, ASearchThatItSavedGoesOnAsIfItHadBeenSavedToday) {
  std::stringstream text;
  text << std::ifstream(DET_GOLDEN "/search_snapshots.json").rdbuf();
  const auto golden = json::parse(text.str());
  ASSERT_TRUE(golden) << golden.error().message();
  ASSERT_EQ(golden->as_array().size(), halvings().size());
  for (std::size_t i = 0; i < halvings().size(); ++i) {
    SCOPED_TRACE(fmt::format("{} {}", i, halvings()[i].searcher));
    auto player = saved_search(halvings()[i]);
    const auto today = player.searcher.snapshot();
    auto then = golden->as_array()[i].as_object();
    then["rand"] = today.at("rand");
    auto restored = Searcher::restore(halving(halvings()[i], 90), then);
    ASSERT_TRUE(restored) << restored.error().message();
    EXPECT_EQ(json::serialize(restored->snapshot()), json::serialize(today));
    while (!player.queue.empty()) {
      const auto next = player.queue.front();
      player.queue.pop_front();
      const auto operations = player.searcher.validation_completed(next.request_id, 1, next.length);
      EXPECT_EQ(restored->validation_completed(next.request_id, 1, next.length), operations);
      for (const auto& operation : operations)
        if (const auto* after = std::get_if<ValidateAfter>(&operation)) player.queue.push_back(*after);
    }
  }
}

}  // namespace
}  // namespace det::search
