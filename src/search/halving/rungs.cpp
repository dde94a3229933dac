#include "det/search/halving/rungs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace det::search {

namespace {

// Where the original's quotient of two logarithms, truncated, is one less than the exact value.
bool falls_short(std::int64_t count, double divisor) {
  static const std::set<std::pair<int, std::int64_t>> kPairs = {
      {9, 59'049},      {10, 1'000},      {10, 1'000'000}, {10, 1'000'000'000}, {10, 1'000'000'000'000},
      {11, 19'487'171}, {12, 35'831'808}, {14, 2'744},     {14, 38'416}};
  const int whole = static_cast<int>(divisor);
  return static_cast<double>(whole) == divisor && kPairs.contains({whole, count});
}

}  // namespace

std::vector<std::int64_t> rung_lengths(std::int64_t longest, double divisor, int rungs) {
  std::vector<std::int64_t> lengths;
  for (int rung = 0; rung < rungs; ++rung) {
    const double part = static_cast<double>(longest) / std::pow(divisor, rungs - 1 - rung);
    lengths.push_back(std::max<std::int64_t>(static_cast<std::int64_t>(part), 1));
  }
  return lengths;
}

std::vector<int> bracket_rungs(std::string_view mode, int rungs_max) {
  const int least = mode == "aggressive" ? rungs_max : mode == "conservative" ? 1 : (rungs_max - 1) / 2 + 1;
  std::vector<int> brackets;
  for (int rungs = rungs_max; rungs >= least; --rungs) brackets.push_back(rungs);
  return brackets;
}

int rungs_for(std::int64_t count, double divisor, int rungs_max) {
  int rungs = 1;
  for (double power = divisor; rungs < rungs_max && power <= static_cast<double>(count); power *= divisor)
    ++rungs;
  const bool exact = std::pow(divisor, rungs - 1) == static_cast<double>(count);
  return exact && falls_short(count, divisor) ? rungs - 1 : rungs;
}

std::vector<std::int64_t> bracket_trials(const std::vector<int>& brackets, double divisor,
                                         std::int64_t trials_max) {
  std::vector<double> weights;
  for (const int rungs : brackets) weights.push_back(std::pow(divisor, rungs - 1) / rungs);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> trials;
  for (const double weight : weights) {
    const double share = weight / sum * static_cast<double>(trials_max);
    trials.push_back(std::max<std::int64_t>(static_cast<std::int64_t>(share), 1));
  }
  const auto given = std::accumulate(trials.begin(), trials.end(), std::int64_t{0});
  trials.front() += std::max<std::int64_t>(trials_max - given, 0);
  return trials;
}

std::vector<std::int64_t> bracket_concurrency(const std::vector<std::int64_t>& trials, double divisor,
                                              std::int64_t concurrent_max) {
  if (concurrent_max == 0)
    return std::vector(trials.size(), std::max(trials.back(), static_cast<std::int64_t>(divisor)));
  return shared_out(std::max(concurrent_max, static_cast<std::int64_t>(trials.size())), trials.size());
}

std::vector<std::int64_t> shared_out(std::int64_t count, std::size_t parts) {
  const auto each = count / static_cast<std::int64_t>(parts);
  const auto left = count % static_cast<std::int64_t>(parts);
  std::vector<std::int64_t> shares(parts, each);
  for (std::int64_t i = 0; i < left; ++i) ++shares[static_cast<std::size_t>(i)];
  return shares;
}

}  // namespace det::search
