#include "det/http/routing/schemas.h"

#include <algorithm>
#include <boost/core/demangle.hpp>
#include <cctype>

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

json::object Schemas::component(const WireStruct& its) {
  const auto name = name_for(boost::core::demangle(its.type->name()));
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

std::string Schemas::name_for(const std::string& cpp_name) {
  // "det::api::GetTrial" -> "GetTrial", or "apiGetTrial" where that is taken.
  std::vector<std::string> words(1);
  for (const char c : cpp_name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  std::string name;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    name = *word + name;
    const auto [entry, added] = names_.try_emplace(name, cpp_name);
    if (added || entry->second == cpp_name) return name;
  }
  for (int i = 2;; ++i) {
    const auto numbered = name + std::to_string(i);
    const auto [entry, added] = names_.try_emplace(numbered, cpp_name);
    if (added || entry->second == cpp_name) return numbered;
  }
}

json::object Schemas::components() const {
  json::object out;
  for (const auto& [name, schema] : schemas_) out[name] = schema;
  return out;
}

}  // namespace det::http
