#include "det/master/checkpoints/storage_id.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace det::master {

std::optional<std::int32_t> storage_id(const json::object& experiment_config) {
  constexpr std::array<std::string_view, 6> kOfNoPlace = {"save_experiment_best", "save_trial_best",
                                                          "save_trial_latest",    "access_key",
                                                          "secret_access_key",    "secret_key"};
  const auto* storage = experiment_config.if_contains("checkpoint_storage");
  if (storage == nullptr || !storage->is_object()) return std::nullopt;
  std::map<std::string, std::string> place;  // sorted
  for (const auto& [key, value] : storage->get_object()) {
    if (value.is_null() ||
        std::find(kOfNoPlace.begin(), kOfNoPlace.end(), std::string_view(key)) != kOfNoPlace.end())
      continue;
    place.emplace(key, json::serialize(value));
  }
  std::uint32_t hash = 2166136261u;  // FNV-1a
  const auto add = [&hash](std::string_view text) {
    for (const unsigned char byte : text) hash = (hash ^ byte) * 16777619u;
    hash *= 16777619u;
  };
  for (const auto& [key, value] : place) {
    add(key);
    add(value);
  }
  return static_cast<std::int32_t>(hash & 0x7fffffffu) | 1;
}

}  // namespace det::master
