#include "det/config/merge.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "det/base/text.h"

namespace det::config {

namespace {

using schema::Field;
using schema::Kind;
using schema::Type;

// The same thing in the words of the two generations: what a higher layer says
// in one must not stand beside what a lower one said in the other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRivals = {{
    {"max_steps", "max_length"},
    {"target_trial_steps", "max_length"},
    {"step_budget", "budget"},
    {"steps_per_round", "length_per_round"},
    {"batches_per_step", "scheduling_unit"},
    {"max_time", "max_length"},
}};

bool is_set(const json::object& object, std::string_view key) {
  const auto* found = object.if_contains(key);
  return found != nullptr && !found->is_null();
}

json::object without_rivals(const json::object& lower, const json::object& higher) {
  auto left = lower;
  for (const auto& [a, b] : kRivals) {
    if (is_set(higher, a) && !is_set(higher, b)) left.erase(b);
    if (is_set(higher, b) && !is_set(higher, a)) left.erase(a);
  }
  return left;
}

json::value merge_field(const Field& field, const json::value& higher, const json::value& lower) {
  if (higher.is_null()) return lower;
  if (lower.is_null()) return higher;
  return field.merge != nullptr ? field.merge(higher, lower) : merge(field.type, higher, lower);
}

json::value merge_object(const Type& type, const json::object& higher, const json::object& unfiltered) {
  const auto lower = without_rivals(unfiltered, higher);
  std::string tag(schema::tag_of(type, higher));
  const std::string lower_tag(schema::tag_of(type, lower));
  if (tag.empty()) tag = lower_tag;
  const bool same_member = tag == lower_tag || lower_tag.empty();

  json::object merged;
  for (const auto& [key, value] : lower) {
    // Of another member of a union only the common fields are left.
    const bool kept =
        type.kind != Kind::Union || same_member || schema::find_field(type.fields, key) != nullptr;
    if (kept) merged.emplace(key, value);
  }
  for (const auto& [key, value] : higher) {
    const auto* below = merged.if_contains(key);
    if (below == nullptr) {
      merged.emplace(key, value);
      continue;
    }
    const auto* field = schema::find_field(type, tag, key);
    if (field != nullptr)
      merged[key] = merge_field(*field, value, *below);
    else if (!value.is_null())
      merged[key] = value;
  }
  return merged;
}

// Entries of both lists; of `lower` those whose key no higher entry has.
template <class Key>
json::value concatenate(const json::value& higher, const json::value& lower, Key key_of) {
  if (!higher.is_array() || !lower.is_array()) return higher;
  auto list = higher.get_array();
  std::set<std::string> taken;
  for (const auto& entry : list)
    if (auto key = key_of(entry); !key.empty()) taken.insert(std::move(key));
  for (const auto& entry : lower.get_array())
    if (!taken.contains(key_of(entry))) list.push_back(entry);
  return list;
}

std::string member_text(const json::value& entry, std::string_view name) {
  const auto* object = entry.if_object();
  const auto* member = object != nullptr ? object->if_contains(name) : nullptr;
  if (member == nullptr || member->is_null()) return "";
  return member->is_string() ? std::string(member->get_string()) : json::serialize(*member);
}

// Device lists and maps apart for each device type, with `gpu` read as cuda.
json::object by_device(const json::value& value) {
  json::object devices;
  if (const auto* object = value.if_object()) {
    for (const auto& [key, entry] : *object)
      if (!entry.is_null()) devices[key == "gpu" ? "cuda" : std::string_view(key)] = entry;
  } else {
    for (const auto* name : {"cpu", "cuda", "rocm"}) devices[name] = value;
  }
  return devices;
}

}  // namespace

json::value merge(const Type& unresolved, const json::value& higher, const json::value& lower) {
  if (higher.is_null()) return lower;
  if (!higher.is_object() || !lower.is_object()) return higher;
  const auto* type = schema::alternative(unresolved, higher);
  if (type == nullptr || type->exactly_one) return higher;
  if (type->kind == Kind::Map) return merge_maps(higher, lower);
  if (type->kind != Kind::Section && type->kind != Kind::Union) return higher;
  return merge_object(*type, higher.get_object(), lower.get_object());
}

json::value merge_labels(const json::value& higher, const json::value& lower) {
  json::array labels;
  std::set<std::string> seen;
  for (const auto* side : {&lower, &higher}) {
    const auto add = [&](std::string_view label) {
      if (seen.emplace(label).second) labels.push_back(json::value(label));
    };
    if (const auto* list = side->if_array()) {
      for (const auto& label : *list)
        if (label.is_string()) add(label.get_string());
    } else if (const auto* map = side->if_object()) {
      for (const auto& [label, set] : *map)
        if (set.is_bool() && set.get_bool()) add(label);
    }
  }
  return labels;
}

json::value merge_by_container_path(const json::value& higher, const json::value& lower) {
  return concatenate(higher, lower, [](const json::value& entry) -> std::string {
    if (!entry.is_string()) return member_text(entry, "container_path");
    const auto parts = split(entry.get_string(), ':');
    return parts.size() > 1 ? parts[1] : "";
  });
}

json::value merge_by_proxy_port(const json::value& higher, const json::value& lower) {
  return concatenate(higher, lower,
                     [](const json::value& entry) { return member_text(entry, "proxy_port"); });
}

json::value merge_log_policies(const json::value& higher, const json::value& lower) {
  return concatenate(higher, lower, [](const json::value& entry) {
    const auto name = member_text(entry, "name");
    return name.empty() ? "unnamed\n" + member_text(entry, "action") + "\n" + member_text(entry, "pattern")
                        : "named\n" + name;
  });
}

json::value merge_environment_variables(const json::value& higher, const json::value& lower) {
  const auto append = [](const json::value& first, const json::value& second) {
    if (!first.is_array() || !second.is_array()) return second;
    auto list = first.get_array();
    for (const auto& entry : second.get_array()) list.push_back(entry);
    return json::value(std::move(list));
  };
  if (higher.is_array() && lower.is_array()) return append(lower, higher);
  auto merged = by_device(lower);
  for (const auto& [device, list] : by_device(higher)) {
    auto& below = merged[device];
    below = below.is_null() ? list : append(below, list);
  }
  return merged;
}

json::value merge_image(const json::value& higher, const json::value& lower) {
  if (!higher.is_object()) return higher;
  auto merged = by_device(lower);
  for (const auto& [device, image] : by_device(higher)) merged[device] = image;
  return merged;
}

json::value merge_hyperparameters(const json::value& higher, const json::value& lower) {
  const auto is_nested = [](const json::value& value) {
    const auto* object = value.if_object();
    const auto* type = object != nullptr ? object->if_contains("type") : nullptr;
    return object != nullptr && (type == nullptr || type->is_object());
  };
  if (!is_nested(higher) || !is_nested(lower)) return higher;
  auto merged = lower.get_object();
  for (const auto& [name, value] : higher.get_object()) {
    const auto* below = merged.if_contains(name);
    merged[name] = below != nullptr ? merge_hyperparameters(value, *below) : value;
  }
  return merged;
}

json::value merge_maps(const json::value& higher, const json::value& lower) {
  if (higher.is_null()) return lower;
  if (!higher.is_object() || !lower.is_object()) return higher;
  auto merged = lower.get_object();
  for (const auto& [key, value] : higher.get_object()) {
    const auto* below = merged.if_contains(key);
    merged[key] = below != nullptr ? merge_maps(value, *below) : value;
  }
  return merged;
}

json::value merge_pod_spec(const json::value& higher, const json::value& lower) {
  if (higher.is_null()) return lower;
  if (higher.is_object() && lower.is_object()) {
    auto merged = lower.get_object();
    for (const auto& [key, value] : higher.get_object()) {
      const auto* below = merged.if_contains(key);
      merged[key] = below != nullptr ? merge_pod_spec(value, *below) : value;
    }
    return merged;
  }
  const auto named = [](const json::value& value) {
    const auto* list = value.if_array();
    return list != nullptr && std::all_of(list->begin(), list->end(), [](const json::value& entry) {
             return !member_text(entry, "name").empty();
           });
  };
  if (!named(higher) || !named(lower)) return higher;
  auto list = lower.get_array();
  for (const auto& entry : higher.get_array()) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const json::value& other) {
      return member_text(other, "name") == member_text(entry, "name");
    });
    if (found == list.end())
      list.push_back(entry);
    else
      *found = merge_pod_spec(entry, *found);
  }
  return list;
}

}  // namespace det::config
