#include "det/http/routing/schemas.h"

#include <fmt/format.h>
#include <algorithm>
#include <boost/core/demangle.hpp>

namespace det::http {

json::object scalar_schema(const char* type, const char* format) {
  json::object schema{{"type", type}};
  if (format != nullptr) schema["format"] = format;
  return schema;
}

json::object enumeration_schema(std::span<const char* const> names) {
  json::array all;
  for (const auto* name : names) all.emplace_back(name);
  return {{"type", "string"}, {"enum", std::move(all)}};
}

json::object list_schema(json::object items) {
  json::object schema{{"type", "array"}};
  schema["items"] = std::move(items);
  return schema;
}

json::object map_schema(json::object items) {
  json::object schema{{"type", "object"}};
  schema["additionalProperties"] = std::move(items);
  return schema;
}

json::object nullable_schema(json::object schema) {
  // OpenAPI 3.0 ignores what stands beside a reference.
  if (schema.contains("$ref")) schema = json::object{{"allOf", json::array{std::move(schema)}}};
  schema["nullable"] = true;
  return schema;
}

json::object Schemas::component(const WireStruct& its) {
  const auto name = name_for(*its.type);
  json::object reference{{"$ref", "#/components/schemas/" + name}};
  const bool reads = std::ranges::any_of(its.members, [](const auto& m) { return m.type->read != nullptr; });
  // A type that contains itself finds its own name.
  if (!described_.insert({name, reads}).second) return reference;
  json::object properties;
  json::array required;
  for (std::size_t i = 0; i < its.members.size(); ++i) {
    const auto& member = its.members[i];
    properties[its.names[i]] = member.type->schema(*this);
    const bool is_required =
        reads ? its.required != nullptr && its.required(member.name) : member.type->is_unset == nullptr;
    if (is_required) required.emplace_back(its.names[i]);
  }
  // Of a type that is read and written, what a request may lack is not required.
  if (!reads && described_.contains({name, true})) return reference;
  json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schemas_[name] = std::move(schema);
  return reference;
}

std::string Schemas::name_for(const std::type_info& type) {
  // "det::api::GetTrial" -> "GetTrial"
  auto name = boost::core::demangle(type.name());
  const auto last = name.find_last_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (last != std::string::npos) name.erase(0, last + 1);
  const auto [entry, added] = names_.try_emplace(name, type);
  if (!added && entry->second != type)
    fmt::print(stderr, "two messages of the API are called {}; rename one\n", name);
  DET_ASSERT(added || entry->second == type);
  return name;
}

json::object Schemas::components() const {
  json::object out;
  for (const auto& [name, schema] : schemas_) out[name] = schema;
  return out;
}

}  // namespace det::http
