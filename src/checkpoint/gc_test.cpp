#include "det/checkpoint/gc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace det::checkpoint {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Two trials with five checkpoints each, "1" to "10", oldest first.
std::vector<Candidate> two_trials() {
  const std::vector<std::optional<double>> metrics = {{}, {}, 0.6, 0.5, 0.4, {}, 0.2, 0.3, {}, {}};
  std::vector<Candidate> candidates;
  for (std::int64_t i = 0; i < std::ssize(metrics); ++i)
    candidates.push_back({.uuid = std::to_string(i + 1),
                          .trial = TrialId{i < 5 ? 1 : 2},
                          .sequence = i,
                          .metric = metrics[static_cast<std::size_t>(i)]});
  return candidates;
}

/// What is left, newest first.
std::vector<int> kept(const std::vector<Candidate>& candidates, const Retention& retention,
                      bool smaller_is_better = true) {
  std::vector<int> left;
  const auto doomed = to_delete(candidates, retention, smaller_is_better);
  for (const auto& candidate : candidates)
    if (std::ranges::find(doomed, candidate.uuid) == doomed.end())
      left.insert(left.begin(), std::stoi(candidate.uuid));
  return left;
}

struct RetentionCase {
  Retention retention;  // experiment best, trial best, trial latest
  std::vector<int> kept;
};
class KeptCheckpoints : public ::testing::TestWithParam<RetentionCase> {};

TEST_P(KeptCheckpoints, AreTheUnionOfBestAndLatest) {
  EXPECT_EQ(kept(two_trials(), GetParam().retention), GetParam().kept);
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, KeptCheckpoints, ::testing::Values(
    RetentionCase{{0, 0, 0}, {}},
    RetentionCase{{2, 0, 0}, {8, 7}},
    RetentionCase{{5, 0, 0}, {8, 7, 5, 4, 3}},
    RetentionCase{{9, 0, 0}, {8, 7, 5, 4, 3}},
    RetentionCase{{0, 1, 0}, {7, 5}},
    RetentionCase{{0, 3, 0}, {8, 7, 5, 4, 3}},
    RetentionCase{{0, 9, 0}, {8, 7, 5, 4, 3}},
    RetentionCase{{0, 0, 1}, {10, 5}},
    RetentionCase{{0, 0, 3}, {10, 9, 8, 5, 4, 3}},
    RetentionCase{{2, 1, 0}, {8, 7, 5}},
    RetentionCase{{2, 0, 1}, {10, 8, 7, 5}},
    RetentionCase{{0, 1, 1}, {10, 7, 5}},
    RetentionCase{{2, 1, 1}, {10, 8, 7, 5}}));
// clang-format on

TEST(GarbageCollection, KeepsTheLargestMetricsWhereLargerIsBetter) {
  EXPECT_EQ(kept(two_trials(), {2, 0, 0}, false), (std::vector{4, 3}));
}

TEST(GarbageCollection, NeverDeletesAPinnedCheckpoint) {
  auto candidates = two_trials();
  candidates[0].pinned = true;
  candidates[6].pinned = true;
  EXPECT_EQ(kept(candidates, {0, 0, 0}), (std::vector{7, 1}));
}

TEST(GarbageCollection, APinnedCheckpointTakesItsPlaceAmongTheBest) {
  auto candidates = two_trials();
  candidates[6].pinned = true;
  EXPECT_EQ(kept(candidates, {1, 0, 0}), (std::vector{7}));
}

TEST(GarbageCollection, RanksTheNewerOfEqualMetricsFirst) {
  const std::vector<Candidate> candidates = {{"1", TrialId{1}, 1, 0.5}, {"2", TrialId{1}, 2, 0.5}};
  EXPECT_EQ(kept(candidates, {1, 0, 0}), (std::vector{2}));
}

TEST(GarbageCollection, RanksNaNBehindEveryNumberWhicheverWayIsBetter) {
  const std::vector<Candidate> candidates = {{"1", TrialId{1}, 1, kInfinity},
                                             {"2", TrialId{1}, 2, -kInfinity},
                                             {"3", TrialId{1}, 3, kNaN},
                                             {"4", TrialId{1}, 4, {}}};
  EXPECT_EQ(kept(candidates, {1, 0, 0}), (std::vector{2}));
  EXPECT_EQ(kept(candidates, {1, 0, 0}, false), (std::vector{1}));
  EXPECT_EQ(kept(candidates, {2, 0, 0}), (std::vector{2, 1}));
  EXPECT_EQ(kept(candidates, {3, 0, 0}), (std::vector{3, 2, 1}));
  EXPECT_EQ(kept(candidates, {9, 0, 0}), (std::vector{3, 2, 1}));
}

TEST(GarbageCollection, DoesNotCareInWhichOrderCheckpointsAreGiven) {
  auto candidates = two_trials();
  std::ranges::reverse(candidates);
  auto left = kept(candidates, {2, 1, 1});
  std::ranges::sort(left);
  EXPECT_EQ(left, (std::vector{5, 7, 8, 10}));
}

}  // namespace
}  // namespace det::checkpoint
