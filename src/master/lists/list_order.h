#pragma once

#include <string_view>

#include "det/base/error.h"

namespace det::master {

/// Old clients say the number of an enumeration's name.
inline bool is_descending(std::string_view order_by) {
  return order_by == "ORDER_BY_DESC" || order_by == "2";
}

/// Refuses values that are not names of the enumeration. The name of an attribute by which this list cannot
/// be sorted is accepted, because clients of other versions send such names; the list then has its usual
/// order.
inline Result<void> check_order(std::string_view sort_by, std::string_view order_by) {
  const auto is_number = [](std::string_view text) {
    return text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!is_number(sort_by) && !sort_by.starts_with("SORT_BY_"))
    return invalid_argument(
        "sortBy is '{}', which is not supported here; use a name such as SORT_BY_START_TIME", sort_by);
  if (!is_number(order_by) && order_by != "ORDER_BY_UNSPECIFIED" && order_by != "ORDER_BY_ASC" &&
      order_by != "ORDER_BY_DESC")
    return invalid_argument("orderBy is '{}'; it must be ORDER_BY_ASC or ORDER_BY_DESC", order_by);
  return {};
}

}  // namespace det::master
