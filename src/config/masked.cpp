#include "det/config/experiment_config.h"
#include "det/config/schema/schema.h"

namespace det::config {

namespace {

using schema::Kind;
using schema::Type;

constexpr std::string_view kMask = "********";

void mask(const Type& unresolved, json::value& value);

void mask_fields(const std::vector<schema::Field>& fields, json::object& object) {
  for (const auto& field : fields) {
    auto* value = object.if_contains(field.name);
    if (value == nullptr || value->is_null()) continue;
    if (field.is_secret)
      *value = kMask;
    else
      mask(field.type, *value);
  }
}

void mask(const Type& unresolved, json::value& value) {
  const auto* type = schema::alternative(unresolved, value);
  if (type == nullptr) return;
  if (type->kind == Kind::List && value.is_array())
    for (auto& entry : value.get_array()) mask(type->of.front(), entry);
  if ((type->kind != Kind::Section && type->kind != Kind::Union) || !value.is_object()) return;
  auto& object = value.get_object();
  mask_fields(type->fields, object);
  // A secret stays one in a document whose tag says something else.
  for (const auto& member : type->members) mask_fields(member.fields, object);
}

void mask_all(json::value& value) {
  if (auto* object = value.if_object()) {
    for (auto& member : *object) mask_all(member.value());
  } else if (auto* array = value.if_array()) {
    for (auto& element : *array) mask_all(element);
  } else {
    value = kMask;
  }
}

}  // namespace

json::object masked(const json::object& document) {
  json::value copy = document;
  mask(schema::experiment(), copy);
  auto& object = copy.get_object();
  if (auto* data = object.if_contains("data"); data != nullptr && data->is_object())
    if (auto* secrets = data->get_object().if_contains("secrets")) mask_all(*secrets);
  // Of these no schema says which keys are secrets.
  for (const auto* name : {"tensorboard_storage", "data_layer"})
    if (auto* section = object.if_contains(name); section != nullptr && section->is_object())
      for (const auto* key : {"access_key", "secret_key", "connection_string", "credential"})
        if (auto* secret = section->get_object().if_contains(key); secret != nullptr && !secret->is_null())
          *secret = kMask;
  return std::move(object);
}

}  // namespace det::config
