// How near the end of an allotment is, and what follows from it.

#include <algorithm>

#include "det/elastic/elastic.h"

namespace det::elastic {
namespace {

/// `seconds` before its trials leave, but no more than the n-th part of its life.
std::optional<Time> before_leaving(const Limits& limits, const Allotment& allotment, std::int64_t seconds,
                                   std::int64_t n) {
  const auto leaves = leaves_at(limits, allotment);
  if (!leaves) return std::nullopt;
  auto early = seconds * kSecond;
  if (allotment.granted)
    early = std::min(early, std::max<std::int64_t>(0, (*leaves - *allotment.granted) / n));
  return *leaves + -early;
}

}  // namespace

std::optional<Time> leaves_at(const Limits& limits, const Allotment& allotment) {
  if (!allotment.ends) return std::nullopt;
  return *allotment.ends + -limits.grace_period * kSecond;
}

std::optional<Time> closes_at(const Limits& limits, const Allotment& allotment) {
  return before_leaving(limits, allotment, limits.useful_time, 4);
}

std::optional<Time> asks_ahead_at(const Limits& limits, const std::vector<std::int64_t>& waits,
                                  const Allotment& allotment) {
  auto lead = limits.lead_time;
  if (lead == kLearnt) {
    auto sorted = waits;
    std::ranges::sort(sorted);
    lead = sorted.empty() ? 0 : sorted[(sorted.size() * 3 + 3) / 4 - 1];
  }
  return before_leaving(limits, allotment, lead, 2);
}

}  // namespace det::elastic
