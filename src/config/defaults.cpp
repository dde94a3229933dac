#include "det/config/defaults.h"

#include <algorithm>
#include <array>

#include "det/config/merge.h"

namespace det::config {

namespace {

using schema::Field;
using schema::Kind;
using schema::Type;

constexpr std::array kStepFields = {"max_steps", "target_trial_steps", "step_budget", "steps_per_round"};

json::value filled(const Type& unresolved, const json::value& value, Generation generation);

json::value fallback_of(const Field& field, Generation generation) {
  const auto& fallback =
      generation == Generation::Steps && field.fallback_steps ? field.fallback_steps : field.fallback;
  return filled(field.type, *fallback, generation);
}

void fill_fields(const std::vector<Field>& fields, json::object& object, Generation generation) {
  for (const auto& field : fields) {
    auto* value = object.if_contains(field.name);
    const bool nullable = schema::resolved(field.type).kind == Kind::Any;
    if (value != nullptr && (!value->is_null() || nullable))
      *value = filled(field.type, *value, generation);
    else if (field.fallback)
      object[field.name] = fallback_of(field, generation);
    else if (value != nullptr)
      object.erase(field.name);
  }
}

json::value filled(const Type& unresolved, const json::value& value, Generation generation) {
  const auto* type = schema::alternative(unresolved, value);
  if (type == nullptr || !schema::fits_kind(*type, value)) return value;
  if (type->kind == Kind::Integer) {
    const auto number = json::to_int64(value);
    return number ? json::value(*number) : value;
  }
  if (type->kind == Kind::List) {
    auto list = value.get_array();
    for (auto& entry : list) entry = filled(type->of.front(), entry, generation);
    return list;
  }
  if (type->kind == Kind::Map) {
    auto map = value.get_object();
    for (auto& member : map) member.value() = filled(type->of.front(), member.value(), generation);
    return map;
  }
  if (type->kind == Kind::Section || type->kind == Kind::Union) {
    const auto tag = schema::tag_of(*type, value);
    if (type->untagged != nullptr && tag.empty()) return filled(type->untagged(), value, generation);
    auto object = value.get_object();
    fill_fields(type->fields, object, generation);
    if (const auto* member = schema::find_member(*type, tag)) fill_fields(member->fields, object, generation);
    return object;
  }
  return value;
}

// Values and maps without a type are shorthand: a constant, a map of hyperparameters.
void name_types(json::value& hyperparameter) {
  if (!hyperparameter.is_object()) {
    hyperparameter = json::object{{"type", "const"}, {"val", std::move(hyperparameter)}};
    return;
  }
  auto& object = hyperparameter.get_object();
  if (const auto* type = object.if_contains("type"); type != nullptr && !type->is_object()) return;
  for (auto& child : object) name_types(child.value());
}

void gpu_to_cuda(json::object& environment, std::string_view field) {
  auto* value = environment.if_contains(field);
  if (value == nullptr || !value->is_object()) return;
  auto& devices = value->get_object();
  auto* gpu = devices.if_contains("gpu");
  if (gpu == nullptr) return;
  if (auto moved = std::move(*gpu); !devices.contains("cuda") && !moved.is_null())
    devices["cuda"] = std::move(moved);
  devices.erase("gpu");
}

json::array default_log_policies() {
  return {json::object{{"name", "CUDA OOM"}, {"pattern", ".*CUDA out of memory.*"}},
          json::object{{"name", "ECC Error"}, {"pattern", ".*uncorrectable ECC error encountered.*"}}};
}

/// A policy of a layer below that has lost its pattern has nothing left to say; a default one must not come
/// back.
json::array without_disabled(const json::array& policies) {
  const auto is_default = [](const json::value& name) {
    const auto defaults = default_log_policies();
    return std::any_of(defaults.begin(), defaults.end(),
                       [&](const auto& policy) { return policy.get_object().at("name") == name; });
  };
  json::array left;
  for (const auto& policy : policies) {
    const auto* object = policy.if_object();
    const auto* name = object != nullptr ? object->if_contains("name") : nullptr;
    const bool says_nothing =
        name != nullptr && name->is_string() && !object->contains("pattern") && !is_default(*name);
    if (!says_nothing) left.push_back(policy);
  }
  return left;
}

const json::object* section(const json::object& document, std::string_view name) {
  const auto* found = document.if_contains(name);
  return found != nullptr ? found->if_object() : nullptr;
}

bool is_set(const json::object& object, std::string_view key) {
  const auto* found = object.if_contains(key);
  return found != nullptr && !found->is_null();
}

// n steps of S batches, or nothing where n is not a sensible number.
std::optional<json::object> in_batches(const json::value* steps, std::int64_t scheduling_unit) {
  std::int64_t batches = 0;
  const auto count = steps != nullptr && steps->is_number() ? json::to_int64(*steps) : std::nullopt;
  if (!count || __builtin_mul_overflow(*count, scheduling_unit, &batches)) return std::nullopt;
  return json::object{{"batches", batches}};
}

}  // namespace

Generation generation_of(const json::object& document) {
  const auto* searcher = section(document, "searcher");
  if (searcher == nullptr) return Generation::Length;
  if (std::any_of(kStepFields.begin(), kStepFields.end(),
                  [&](const char* name) { return is_set(*searcher, name); }))
    return Generation::Steps;
  return is_set(*searcher, "max_time") ? Generation::Time : Generation::Length;
}

json::object with_defaults(const json::object& merged, Generation generation) {
  auto document = merged;
  // A unit of one name is the unit of the other, and no default.
  if (is_set(document, "batches_per_step") && !is_set(document, "scheduling_unit"))
    document["scheduling_unit"] = document["batches_per_step"];
  document = filled(schema::experiment(), document, generation).get_object();

  if (auto* labels = document.if_contains("labels")) {
    auto set = merge_labels(*labels, nullptr).get_array();
    std::sort(set.begin(), set.end(),
              [](const auto& a, const auto& b) { return a.get_string() < b.get_string(); });
    *labels = std::move(set);
  }
  if (auto* hyperparameters = document["hyperparameters"].if_object())
    for (auto& hyperparameter : *hyperparameters) name_types(hyperparameter.value());
  if (auto* environment = document["environment"].if_object()) {
    gpu_to_cuda(*environment, "image");
    gpu_to_cuda(*environment, "environment_variables");
  }
  if (document["log_policies"].is_array())
    document["log_policies"] =
        merge_log_policies(without_disabled(document["log_policies"].get_array()), default_log_policies());
  return document;
}

json::object with_task_defaults(const schema::Type& type, const json::object& merged) {
  auto document = filled(type, merged, Generation::Length).get_object();
  if (auto* environment = document["environment"].if_object()) {
    gpu_to_cuda(*environment, "image");
    gpu_to_cuda(*environment, "environment_variables");
  }
  return document;
}

void translate_steps(json::object& document, Generation generation) {
  const auto* unit = document.if_contains("scheduling_unit");
  const auto scheduling_unit = (unit != nullptr ? json::to_int64(*unit) : std::nullopt).value_or(100);
  if (!is_set(document, "batches_per_step")) document["batches_per_step"] = scheduling_unit;
  for (const auto* name : {"min_validation_period", "min_checkpoint_period"})
    if (auto length = in_batches(document.if_contains(name), scheduling_unit))
      document[name] = *std::move(length);

  auto* found = document.if_contains("searcher");
  auto* searcher = found != nullptr ? found->if_object() : nullptr;
  if (searcher == nullptr || generation != Generation::Steps) return;
  const auto put = [&](std::string_view from, std::string_view to) {
    if (is_set(*searcher, to)) return;
    if (auto length = in_batches(searcher->if_contains(from), scheduling_unit))
      (*searcher)[to] = *std::move(length);
  };
  put("max_steps", "max_length");
  put("target_trial_steps", "max_length");
  put("step_budget", "budget");
  put("steps_per_round", "length_per_round");
}

}  // namespace det::config
