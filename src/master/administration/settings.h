#pragma once

#include "det/base/json.h"

namespace det::master {

/// Removes a member from a map of the master's configuration and returns it; null if there is none.
inline json::value take(json::object& from, std::string_view name) {
  const auto found = from.find(name);
  if (found == from.end()) return nullptr;
  json::value value = std::move(found->value());
  from.erase(found);
  return value;
}

}  // namespace det::master
