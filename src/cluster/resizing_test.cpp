// Trials that run on any number of slots from a fewest to a most.

#include <gtest/gtest.h>

#include "det/cluster/testing.h"

namespace det::cluster {
namespace {

const std::string kOneToFour =
    "resources: {slots_per_trial: {min: 1, max: 4}}\n";  // of a batch of 8: 1, 2 or 4

struct Resizing : Bench {
  explicit Resizing(int slots) { join("a", slots); }

  int slots(int experiment = 1) const { return cluster.allocation(allocation(experiment))->slots; }
  bool gives_way(int experiment = 1) const { return cluster.allocation(allocation(experiment))->preempt; }
  void pass(std::int64_t seconds) {
    clock += seconds * kSecond;
    for (auto& event : cluster.due(Time{clock})) handle(std::move(event));
  }
  /// It saves, and leaves as it was asked to.
  void leaves(int experiment = 1) { handle(exited(allocation(experiment), "a", 0)); }
  std::string note_of_its_start(const Outcome& outcome) const {
    for (const auto& effect : outcome.effects)
      if (const auto* note = std::get_if<LogNote>(&effect);
          note != nullptr && note->text.find("starts on") != std::string::npos)
        return note->text;
    return "";
  }
};

TEST(SlotRange, ItStartsOnWhatThereIsAndSaysSo) {
  Resizing bench(3);
  EXPECT_EQ(bench.note_of_its_start(bench.submit(kOneToFour)),
            "trial 1 (run 1) starts on agent a with 2 slots, of 1 to 4");
  EXPECT_EQ(bench.slots(), 2) << "3 do not divide its batch";
  EXPECT_EQ(bench.cluster.desired("a").at(0).size, 2);
}

TEST(SlotRange, ItShrinksForWhoWaitsAndGrowsWhenTheyAreGone) {
  Resizing bench(4);
  bench.submit(kOneToFour);
  EXPECT_EQ(bench.slots(), 4);
  bench.submit("resources: {slots_per_trial: 2}\n");
  EXPECT_FALSE(bench.gives_way()) << "it has only just started";
  bench.pass(60);
  EXPECT_TRUE(bench.gives_way());
  EXPECT_EQ(bench.cluster.waiting_reason(bench.allocation(2)),
            "needs 2 slots; 1 task is being preempted for it");
  bench.leaves();
  EXPECT_EQ(bench.slots(1), 2);
  EXPECT_EQ(bench.slots(2), 2);
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.run_id, 2);
  EXPECT_EQ(bench.cluster.trial(TrialId{1})->record.restarts, 0) << "it failed at nothing";

  bench.handle(ExperimentCommanded{ExperimentId{2}, Verb::Kill});
  bench.leaves(2);
  EXPECT_FALSE(bench.gives_way()) << "it has only just started";
  bench.pass(60);
  EXPECT_TRUE(bench.gives_way());
  bench.leaves();
  EXPECT_EQ(bench.slots(), 4);
  bench.pass(1000);
  EXPECT_FALSE(bench.gives_way()) << "there are no more to have";
}

TEST(SlotRange, TimeAloneChangesNothing) {
  Resizing bench(3);
  bench.submit(kOneToFour);
  bench.pass(60);
  EXPECT_FALSE(bench.gives_way());
  EXPECT_TRUE(bench.cluster.due(Time{bench.clock + 1000 * kSecond}).empty()) << "once is enough";
  bench.join("b", 4);
  EXPECT_TRUE(bench.gives_way()) << "there are 4 on one agent now";
}

TEST(SlotRange, AShareThatStaysGoesOnAnyNumberOfSlots) {
  Resizing bench(3);
  bench.submit("resources: {slots_per_trial: {min: 2, max: 4, batch: per_slot}}\n");
  EXPECT_EQ(bench.slots(), 3);
}

TEST(SlotRange, TheSameEventsGiveTheSameCluster) {
  Resizing bench(4);
  bench.submit(kOneToFour);
  bench.submit("resources: {slots_per_trial: 2}\n");
  bench.pass(60);
  bench.leaves();
  expect_replay_gives_the_same(bench);
}

}  // namespace
}  // namespace det::cluster
