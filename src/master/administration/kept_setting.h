#pragma once

#include <optional>
#include <string>

#include "det/base/json.h"
#include "det/store/store.h"

namespace det::master {

/// A setting that the store keeps as JSON under a key; nothing if there is none or it does not have the type
/// T.
template <class T>
std::optional<T> kept_setting(store::Store& store, const std::string& key) {
  const auto text = store.setting(key);
  if (!text) return std::nullopt;
  const auto parsed = json::parse(*text);
  if (!parsed) return std::nullopt;
  auto value = json::from_json<T>(*parsed);
  if (!value) return std::nullopt;
  return *std::move(value);
}

}  // namespace det::master
