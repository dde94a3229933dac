// The event log: what replay needs is there, and nothing is kept for ever.

#include "det/store/contract/contract_fixture.h"
#include "det/store/rows/event_rows.h"

namespace det::store {
namespace {

class EventContract : public StoreContract {
 protected:
  Change event(std::int64_t sequence) {
    return AppendEvent{{sequence, Time{sequence}, json::object{{"n", sequence}}}};
  }
  void append(std::int64_t first, std::int64_t last) {
    std::vector<Change> all;
    for (auto n = first; n <= last; ++n) all.push_back(event(n));
    store->commit(std::move(all), [] {});
    store->flush();
  }
  void snapshot(std::int64_t sequence) { commit(SaveSnapshot{{sequence, json::object{{"n", sequence}}}}); }
  std::vector<std::int64_t> kept() {
    std::vector<std::int64_t> all;
    for (const auto& event : store->events_after(0, 0)) all.push_back(event.sequence);
    return all;
  }
};

TEST_P(EventContract, TheLogHoldsNoMoreThanAFewSnapshotsNeedHoweverLongItIs) {
  constexpr std::int64_t kPerSnapshot = 500;
  std::size_t most = 0;
  for (std::int64_t n = 0; n < 20'000; n += 50) {
    append(n + 1, n + 50);
    if ((n + 50) % kPerSnapshot == 0) snapshot(n + 50);
    most = std::max(most, kept().size());
  }
  EXPECT_LE(most, 3 * kPerSnapshot + 2 * EventPruner::kAppendsPerPrune);
}

TEST_P(EventContract, EverythingAfterTheSnapshotBeforeTheNewestStays) {
  append(1, 1'000);
  snapshot(1'000);
  append(1'001, 2'000);
  EXPECT_EQ(kept().size(), 2'000u) << "with one snapshot the whole log is the other way to the same state";
  snapshot(2'000);
  append(2'001, 4'000);
  const auto left = kept();
  EXPECT_EQ(left.front(), 1'001);
  EXPECT_EQ(left.size(), 3'000u);
  reopen();
  EXPECT_EQ(store->latest_snapshot()->sequence, 2'000);
  EXPECT_EQ(store->events_after(2'000, 0).size(), 2'000u);
}

TEST_P(EventContract, ALogThatGrewBeforeIsShortenedLittleByLittle) {
  append(1, 30'000);
  snapshot(29'000);
  snapshot(30'000);
  EXPECT_EQ(kept().size(), 30'000u) << "the snapshot itself removes nothing";
  auto before = kept().size();
  for (std::int64_t n = 30'001; n <= 30'200; ++n) {
    append(n, n);
    const auto now = kept().size();
    EXPECT_LE(before + 1 - now, static_cast<std::size_t>(EventPruner::kRowsPerPrune)) << "in one commit";
    before = now;
  }
  EXPECT_LT(before, 30'000u);
  append(30'201, 45'000);
  EXPECT_EQ(kept().front(), 29'001);
}

TEST_P(EventContract, SequencesGoOnAfterTheLastSnapshotWhateverIsLeftOfTheLog) {
  append(1, 200);
  snapshot(200);
  reopen();
  append(201, 201);
  EXPECT_EQ(kept().back(), 201);
}

INSTANTIATE_TEST_SUITE_P(, EventContract, kBackends, [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace det::store
