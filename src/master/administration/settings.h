#pragma once

#include "det/base/json.h"

namespace det::master {

/// What a map of the master's configuration has under a name, taken out of it; null where there is nothing.
inline json::value take(json::object& from, std::string_view name) {
  const auto found = from.find(name);
  if (found == from.end()) return nullptr;
  json::value value = std::move(found->value());
  from.erase(found);
  return value;
}

}  // namespace det::master
