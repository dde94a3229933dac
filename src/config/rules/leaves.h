#pragma once

#include <string_view>

#include "det/config/report.h"

namespace det::config {

/// `type` of a hyperparameter; empty: it is a map of others, or not one. Points into the object. (Of an
/// object it must not make a value: that would be a copy which is gone at once.)
inline std::string_view type_of(const json::object& object) {
  const auto* type = object.if_contains("type");
  return type != nullptr && type->is_string() ? std::string_view(type->get_string()) : std::string_view{};
}
inline std::string_view type_of(const json::value& value) {
  const auto* object = value.if_object();
  return object != nullptr ? type_of(*object) : std::string_view{};
}

/// Calls visit(type, hyperparameter, path) for every leaf of a tree of hyperparameters.
template <class Visit>
void for_each_leaf(const json::value& value, const Path& path, const Visit& visit) {
  const auto* object = value.if_object();
  if (object == nullptr) return;
  if (const auto type = type_of(*object); !type.empty()) return visit(type, *object, path);
  for (const auto& [name, child] : *object) for_each_leaf(child, path / std::string_view(name), visit);
}

}  // namespace det::config
