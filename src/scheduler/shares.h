#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace det::scheduler {

/// What a group asks for of a pool's slots, and what it is offered.
struct Claim {
  std::string_view group;
  std::pair<std::int64_t, std::int64_t> age;                           ///< lower is older
  double weight = 1;                                                   ///< greater than 0
  std::int64_t demand = 0;                                             ///< slots wanted, with those in use
  std::int64_t demand_max = std::numeric_limits<std::int64_t>::max();  ///< what it may use at once
  std::int64_t held = 0;                                               ///< in use by what cannot give way
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();    ///< slots of its smallest request
  std::int64_t offered = 0;                                            ///< the answer
};

/// Shares `slots` out max-min by weight: nobody gets more than it asks for, what one does not ask for goes to
/// the others, and nobody's share grows at the cost of a smaller one.
///
/// A group whose share is too small for even its smallest request would keep slots that it cannot use, and
/// two such groups would keep one another waiting for ever. So when everything is given out, the newest group
/// of that kind gets nothing, and its slots go to the others; again until no such group is left.
///
/// Whether a request waits or runs makes no difference, as long as it can give way. So what starts and gives
/// way changes nobody's share, and groups do not chase one another from their slots.
///
/// Costs O(n log n + slots) for n claims but for odd inputs.
void share_out(std::int64_t slots, std::span<Claim* const> claims);

}  // namespace det::scheduler
