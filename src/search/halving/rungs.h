#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace det::search {

/// The arithmetic of successive halving (searchers.md §6–§9): how far the trials
/// of each rung train, which brackets a mode has, how trials are shared among them.

/// Totals after which the trials of each rung validate, the lowest rung first:
/// `longest` divided by `divisor` once for each rung below the top, at least 1.
std::vector<std::int64_t> rung_lengths(std::int64_t longest, double divisor, int rungs);

/// The numbers of rungs of a mode's brackets, the largest first.
/// "aggressive": only `rungs_max`; "standard": the upper half of 1..rungs_max; "conservative": all of them.
std::vector<int> bracket_rungs(std::string_view mode, int rungs_max);

/// How many rungs `count` allows: floor(log_divisor(count)) + 1, at most `rungs_max`; computed without
/// logarithms, which fall short at some powers. At those where the original fell short this does, too:
/// a search is the same here as there.
int rungs_for(std::int64_t count, double divisor, int rungs_max);

/// The trials of each bracket of adaptive_asha: more where there are more rungs, at least 1 each.
std::vector<std::int64_t> bracket_trials(const std::vector<int>& brackets, double divisor,
                                         std::int64_t trials_max);

/// How many trials of each bracket run at a time. 0: no limit was set, and each bracket
/// runs as many as the smallest has, at least one for each it may promote.
std::vector<std::int64_t> bracket_concurrency(const std::vector<std::int64_t>& trials, double divisor,
                                              std::int64_t concurrent_max);

/// `count` over `parts`, the first ones getting one more.
std::vector<std::int64_t> shared_out(std::int64_t count, std::size_t parts);

}  // namespace det::search
