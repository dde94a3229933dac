#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>

namespace det {

/// An integer that cannot be mixed up with another kind of integer. There is
/// no implicit conversion in either direction.
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;  ///< No thing at all; ids of things start at 1.
  constexpr explicit Id(std::int64_t value) : value_(value) {}
  constexpr std::int64_t value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::int64_t value_ = 0;
};

using ExperimentId = Id<struct ExperimentTag>;
using TrialId = Id<struct TrialTag>;
using UserId = Id<struct UserTag>;

}  // namespace det

template <typename Tag>
struct fmt::formatter<det::Id<Tag>> {
  constexpr auto parse(fmt::format_parse_context& context) const { return context.begin(); }  // {} alone
  auto format(det::Id<Tag> id, fmt::format_context& context) const {
    const fmt::format_int digits(id.value());
    return std::copy_n(digits.data(), digits.size(), context.out());
  }
};
