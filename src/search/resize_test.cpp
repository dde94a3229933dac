// A search that goes on with other sizes: more trials, longer ones, another number at a time.

#include <gtest/gtest.h>

#include <deque>

#include "det/search/searcher.h"
#include "det/search/testing.h"

namespace det::search {
namespace {

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

/// Does what a search asks, first asked first.
struct Player {
  explicit Player(const config::ExperimentConfig& config) : searcher(*Searcher::make(config)) {
    take(searcher.start());
  }
  void take(const Operations& operations) {
    std::vector<RequestId> made;
    for (const auto& operation : operations) {
      if (const auto* create = std::get_if<Create>(&operation)) {
        hparams.push_back(create->hparams);
        made.push_back(create->request_id);
        numbers.emplace(create->request_id, numbers.size());
      } else if (const auto* after = std::get_if<ValidateAfter>(&operation)) {
        queue.push_back(*after);
      } else if (const auto* close = std::get_if<Close>(&operation)) {
        closing.insert(close->request_id);
      } else {
        ++shutdowns;
      }
    }
    for (const auto& id : made) take(searcher.trial_created(id));
  }
  bool step() {
    if (!queue.empty()) {
      const auto next = queue.front();
      queue.pop_front();
      reached[next.request_id] = next.length;
      most = std::max(most, queue.size() + 1);
      const auto number = static_cast<double>(numbers.at(next.request_id));
      take(searcher.validation_completed(next.request_id, number, next.length));
      return true;
    }
    if (closing.empty()) return false;
    const auto id = *closing.begin();
    closing.erase(closing.begin());
    take(searcher.trial_closed(id));
    return true;
  }
  void finish() {
    while (step()) continue;
  }
  Result<Operations> reconfigure(const config::ExperimentConfig& config) {
    auto operations = searcher.reconfigure(config);
    if (operations) take(*operations);
    return operations;
  }

  Searcher searcher;
  std::deque<ValidateAfter> queue;
  std::set<RequestId> closing;
  std::map<RequestId, std::size_t> numbers;
  std::map<RequestId, std::int64_t> reached;
  std::vector<json::object> hparams;
  std::size_t most = 0;
  int shutdowns = 0;
};

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
  EXPECT_EQ(nothing.error().message(),
            "the search is over, and with these sizes there is nothing more to do");
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

}  // namespace
}  // namespace det::search
