// The description as JSON Schema 2020-12: https://json-schema.org/draft/2020-12
//
// What may come from a template or from the master is not `required` here; it is
// listed under "eventuallyRequired", which validators pass over and people read.
#include <algorithm>
#include <cmath>

#include "det/config/experiment_config.h"
#include "det/config/schema/schema.h"

namespace det::config {

namespace {

using schema::Field;
using schema::Kind;
using schema::Type;

json::value number_of(double limit) {
  return std::floor(limit) == limit && std::abs(limit) < 9e15 ? json::value(static_cast<std::int64_t>(limit))
                                                              : json::value(limit);
}

json::object schema_of(const Type& type, bool whole);

json::array choices_of(const Type& type) {
  json::array choices;
  for (const auto& choice : type.choices) choices.push_back(json::value(choice));
  return choices;
}

// Null is absent wherever a field may be absent.
json::object nullable(json::object schema) {
  if (schema.empty()) return schema;
  return {{"anyOf", json::array{json::object{{"type", "null"}}, std::move(schema)}}};
}

json::object property_of(const Field& field, bool whole) {
  const bool must_be_there = field.is_required && whole;
  auto schema = must_be_there ? schema_of(field.type, whole) : nullable(schema_of(field.type, whole));
  schema["description"] = field.about;
  if (field.fallback) schema["default"] = *field.fallback;
  if (field.is_secret) schema["writeOnly"] = true;
  return schema;
}

struct Properties {
  json::object properties;
  json::array required;
  void add(const std::vector<Field>& fields, bool whole) {
    for (const auto& field : fields) {
      if (properties.contains(field.name)) continue;
      properties[field.name] = property_of(field, whole);
      if (field.is_required) required.push_back(json::value(field.name));
    }
  }
};

json::object object_of(Properties parts, bool whole) {
  json::object schema = {
      {"type", "object"}, {"properties", std::move(parts.properties)}, {"additionalProperties", false}};
  if (!parts.required.empty()) schema[whole ? "required" : "eventuallyRequired"] = std::move(parts.required);
  return schema;
}

json::object section_of(const Type& type, bool whole) {
  if (type.exactly_one) {
    json::array options;
    for (const auto& field : type.fields) {
      json::object properties;
      properties[field.name] = schema_of(field.type, true);
      for (const auto& other : type.fields)
        if (other.name != field.name) properties[other.name] = json::object{{"type", "null"}};
      options.push_back(json::object{{"type", "object"},
                                     {"properties", std::move(properties)},
                                     {"additionalProperties", false},
                                     {"required", json::array{json::value(field.name)}}});
    }
    return {{"oneOf", std::move(options)}};
  }
  Properties parts;
  parts.add(type.fields, whole);
  return object_of(std::move(parts), whole);
}

json::object union_of(const Type& type, bool whole) {
  json::array options;
  for (const auto& member : type.members) {
    if (!type.supports(member.name)) continue;
    Properties parts;
    parts.properties[type.tag] = json::object{{"const", json::value(member.name)}};
    parts.add(type.fields, whole);
    parts.add(member.fields, whole);
    auto option = object_of(std::move(parts), whole);
    auto* required = option.if_contains("required");
    if (required == nullptr)
      option["required"] = json::array{json::value(type.tag)};
    else
      required->get_array().insert(required->get_array().begin(), json::value(type.tag));
    options.push_back(std::move(option));
  }
  if (type.untagged != nullptr) {
    options.push_back(
        json::object{{"type", "object"},
                     {"properties", json::object{{type.tag, json::object{{"type", "object"}}}}},
                     {"additionalProperties", json::object{{"$ref", "#/$defs/hyperparameter"}}}});
  } else if (!whole) {
    // The tag may lie in a lower layer.
    Properties parts;
    parts.properties[type.tag] = json::object{{"type", "null"}};
    parts.add(type.fields, false);
    for (const auto& member : type.members) parts.add(member.fields, false);
    parts.required.clear();
    options.push_back(object_of(std::move(parts), false));
  }
  return {{"anyOf", std::move(options)}};
}

json::object schema_of(const Type& type, bool whole) {
  if (type.same_as != nullptr) return {{"$ref", "#/$defs/hyperparameter"}};
  json::object schema;
  switch (type.kind) {
    case Kind::Any: return schema;
    case Kind::Literal: return {{"not", json::object{{"type", "object"}}}};
    case Kind::Null: return {{"type", "null"}};
    case Kind::Bool: return {{"type", "boolean"}};
    case Kind::Integer:
    case Kind::Number:
      schema["type"] = type.kind == Kind::Integer ? "integer" : "number";
      if (type.minimum)
        schema[type.minimum_excluded ? "exclusiveMinimum" : "minimum"] = number_of(*type.minimum);
      if (type.maximum) schema["maximum"] = number_of(*type.maximum);
      break;
    case Kind::String:
      schema["type"] = "string";
      if (type.minimum) schema["minLength"] = number_of(*type.minimum);
      if (!type.pattern.empty()) schema["pattern"] = type.pattern;
      if (!type.choices.empty()) schema["enum"] = choices_of(type);
      break;
    case Kind::List:
      schema["type"] = "array";
      schema["items"] = schema_of(type.of.front(), true);
      if (type.minimum) schema["minItems"] = number_of(*type.minimum);
      break;
    case Kind::Map:
      schema["type"] = "object";
      schema["additionalProperties"] = schema_of(type.of.front(), true);
      break;
    case Kind::Section: schema = section_of(type, whole); break;
    case Kind::Union: schema = union_of(type, whole); break;
    case Kind::AnyOf: {
      json::array options;
      for (const auto& option : type.of) options.push_back(schema_of(option, whole));
      schema["anyOf"] = std::move(options);
      break;
    }
  }
  if (!type.rule.empty()) schema["errorMessage"] = type.rule;
  return schema;
}

}  // namespace

const json::object& experiment_schema() {
  static const auto schema = [] {
    auto root = schema_of(schema::experiment(), false);
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    root["title"] = "Experiment configuration";
    root["$defs"] = json::object{{"hyperparameter", schema_of(schema::hyperparameter(), true)}};
    return root;
  }();
  return schema;
}

}  // namespace det::config
