// A ranking against a sorted list that does the same.
#include "det/search/halving/ranking.h"

#include <gtest/gtest.h>

namespace det::search {
namespace {

/// The same, slowly: all in order, with the newcomer where it belongs.
struct Model {
  /// True if it is among the best `count`.
  bool insert(const Uuid& trial, double metric, Ranking::Ties ties, std::int64_t count, bool promotes) {
    const auto place = std::ranges::find_if(all, [&](const auto& other) {
      return ties == Ranking::Ties::OldestFirst ? metric < other.metric : metric <= other.metric;
    });
    const bool among = place - all.begin() < count;
    all.insert(place, {.trial = trial, .metric = metric, .promoted = among && promotes});
    return among;
  }
  std::vector<Ranking::Entry> all;
};

void expect_same(const Ranking& ranking, const Model& model) {
  const auto all = ranking.in_order();
  ASSERT_EQ(all.size(), model.all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].trial, model.all[i].trial);
    EXPECT_EQ(all[i].metric, model.all[i].metric);
    EXPECT_EQ(all[i].promoted, model.all[i].promoted);
  }
}

Uuid some_uuid(Random& random) {
  return {.high = random.bits64(), .low = random.bits64()};
}

TEST(Ranking, IsASortedListWhoeverComesGoesAndWhereverTheLineIs) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto ties = seed % 2 == 0 ? Ranking::Ties::OldestFirst : Ranking::Ties::NewestFirst;
    Ranking ranking;
    Model model;
    for (int step = 0; step < 120; ++step) {
      const auto chance = random.below(20);
      if (chance == 0 && ranking.size() > 0) {
        const auto gone = model.all[static_cast<std::size_t>(random.below(ranking.size()))].trial;
        const auto is_gone = [&](const Ranking::Entry& entry) { return entry.trial == gone; };
        ranking.erase_if(is_gone);
        std::erase_if(model.all, is_gone);
      } else if (chance == 1) {
        Ranking restored;
        ASSERT_FALSE(json::read(*json::parse(json::serialize(ranking.to_json())), restored, ""));
        ranking = std::move(restored);
      }
      const auto count = random.below(4) == 0 ? random.below(ranking.size() + 3) : ranking.size() / 3;
      const double metric = random.below(2) == 0 ? random.unit() : static_cast<double>(random.below(4));
      const auto trial = some_uuid(random);
      EXPECT_EQ(ranking.insert(trial, metric, ties, count, seed % 3 == 0),
                model.insert(trial, metric, ties, count, seed % 3 == 0));
      if (count > 0) {
        const auto last = static_cast<std::size_t>(std::min(count, ranking.size())) - 1;
        EXPECT_EQ(ranking.last_of_best().trial, model.all[last].trial);
      }
      expect_same(ranking, model);
    }
  }
}

TEST(Ranking, ReadsTheListOfEntriesOfEarlierReleases) {
  const auto earlier = json::parse(R"([
      {"trial": "677de5d8-09a4-446c-93de-a19f155159a5", "metric": 0.5, "arrival": 1, "promoted": true},
      {"trial": "e67daeca-274a-4acf-97a8-6587aec8df7a", "metric": "Infinity", "arrival": 0, "promoted": false}])");
  Ranking ranking;
  ASSERT_FALSE(json::read(*earlier, ranking, ""));
  EXPECT_EQ(json::serialize(ranking.to_json()),
            R"({"trial":["677de5d8-09a4-446c-93de-a19f155159a5","e67daeca-274a-4acf-97a8-6587aec8df7a"],)"
            R"("metric":[0.5,"Infinity"],"arrival":[1,0],"promoted":[true,false]})");
  EXPECT_FALSE(ranking.insert({}, 0.5, Ranking::Ties::OldestFirst, 1)) << "who came later goes behind";
}

TEST(Ranking, ATextThatIsNoneIsRefusedWithItsPlace) {
  const auto problem = [](const char* text) {
    Ranking ranking;
    const auto error = json::read(*json::parse(text), ranking, "metrics");
    return error ? error->message() : "";
  };
  EXPECT_EQ(problem("7"), "metrics: expected a list");
  EXPECT_EQ(problem("{}"), "metrics.trial: expected a list");
  EXPECT_EQ(problem(R"({"trial": ["x"]})"), "metrics.trial: expected a UUID in lower case");
  EXPECT_EQ(problem(R"({"trial": [], "metric": [1]})"),
            "metrics.metric: is not a list as long as the others");
}

}  // namespace
}  // namespace det::search
