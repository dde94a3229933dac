#include "det/checkpoint/gc.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace det::checkpoint {

namespace {

using Candidates = std::vector<const Candidate*>;

/// Puts the first `count` by `precedes` into `kept`.
template <typename Precedes>
void keep(std::set<const Candidate*>& kept, Candidates candidates, std::int64_t count, Precedes precedes) {
  std::ranges::sort(candidates, precedes);
  const auto n = std::clamp<std::int64_t>(count, 0, std::ssize(candidates));
  kept.insert(candidates.begin(), candidates.begin() + n);
}

}  // namespace

std::vector<std::string> to_delete(std::span<const Candidate> candidates, const Retention& retention,
                                   bool smaller_is_better) {
  const auto newer = [](const Candidate* a, const Candidate* b) { return a->sequence > b->sequence; };
  const auto better = [&](const Candidate* a, const Candidate* b) {
    const bool a_is_number = !std::isnan(*a->metric);
    const bool b_is_number = !std::isnan(*b->metric);
    if (a_is_number != b_is_number) return a_is_number;
    if (!a_is_number || *a->metric == *b->metric) return newer(a, b);
    return smaller_is_better ? *a->metric < *b->metric : *a->metric > *b->metric;
  };

  Candidates measured;
  std::map<TrialId, Candidates> of_trial;
  std::map<TrialId, Candidates> measured_of_trial;
  for (const auto& candidate : candidates) {
    of_trial[candidate.trial].push_back(&candidate);
    if (!candidate.metric) continue;
    measured.push_back(&candidate);
    measured_of_trial[candidate.trial].push_back(&candidate);
  }

  std::set<const Candidate*> kept;
  keep(kept, measured, retention.experiment_best, better);
  for (const auto& [trial, its] : measured_of_trial) keep(kept, its, retention.trial_best, better);
  for (const auto& [trial, its] : of_trial) keep(kept, its, retention.trial_latest, newer);

  std::vector<std::string> doomed;
  for (const auto& candidate : candidates)
    if (!candidate.pinned && !kept.contains(&candidate)) doomed.push_back(candidate.uuid);
  return doomed;
}

}  // namespace det::checkpoint
