#pragma once

#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <variant>

#include "det/http/message.h"
#include "det/http/wire/wire_type.h"

namespace det::http {

/// OpenAPI schemas of described types, gathered under their names.
class Schemas {
 public:
  /// A reference to the schema of a struct, under the name of its type.
  json::object component(const WireStruct& its);

  /// All components so far, sorted by name.
  json::object components() const;

 private:
  /// The component's name of a C++ type: that of the type without its namespace.
  /// Requires: no other type of that name was described.
  std::string name_for(const std::type_info& type);

  std::map<std::string, json::object> schemas_;
  std::set<std::pair<std::string, bool>> described_;  // components, and whether they are read
  std::map<std::string, std::type_index> names_;
};

/// {"type": type}, with a format where one is given.
json::object scalar_schema(const char* type, const char* format = nullptr);
/// {"type": "string", "enum": names}
json::object enumeration_schema(std::span<const char* const> names);
json::object list_schema(json::object items);
json::object map_schema(json::object items);
/// The schema, or null.
json::object nullable_schema(json::object schema);

/// The schema of T: inline, or a reference to a component.
template <class T, Way way>
json::object schema_of(Schemas& schemas) {
  if constexpr (std::is_same_v<T, json::value>)
    return {};
  else if constexpr (std::is_same_v<T, json::object>)
    return {{"type", "object"}, {"additionalProperties", true}};
  else if constexpr (std::is_same_v<T, json::array>)
    return list_schema({});
  else if constexpr (is_documented<T>::value)
    return []<class Form>(Schemas& s, Documented<Form>*) { return schema_of<Form, way>(s); }(
               schemas, static_cast<T*>(nullptr));
  else if constexpr (json::is_optional<T>::value)
    return schema_of<typename T::value_type, way>(schemas);
  else if constexpr (is_nullable<T>::value)
    return nullable_schema(schema_of<typename T::value_type, way>(schemas));
  else if constexpr (std::is_same_v<T, bool>)
    return scalar_schema("boolean");
  else if constexpr (kWideInteger<T>)
    return scalar_schema("string", "int64");
  else if constexpr (std::is_integral_v<T> || json::is_id<T>::value)
    return scalar_schema("integer");
  else if constexpr (std::is_floating_point_v<T>)
    return scalar_schema("number", "double");
  else if constexpr (std::is_same_v<T, std::string>)
    return scalar_schema("string");
  else if constexpr (std::is_same_v<T, Time>)
    return scalar_schema("string", "date-time");
  else if constexpr (json::DescribedEnum<T>)
    return []<template <class...> class List, class... D>(List<D...>) {
      static constexpr std::array<const char*, sizeof...(D)> kNames{D::name...};
      return enumeration_schema(kNames);
    }(boost::describe::describe_enumerators<T>{});
  else if constexpr (json::is_variant<T>::value)
    return []<class... A>(Schemas& s, std::variant<A...>*) {
      json::object properties;
      ((properties[camel_case(A::kName)] = schema_of<A, way>(s)), ...);
      return json::object{{"type", "object"}, {"properties", std::move(properties)}, {"maxProperties", 1}};
    }(schemas, static_cast<T*>(nullptr));
  else if constexpr (json::Map<T>)
    return map_schema(schema_of<typename T::mapped_type, way>(schemas));
  else if constexpr (json::Set<T> || json::Sequence<T> || json::is_array<T>::value)
    return list_schema(schema_of<typename T::value_type, way>(schemas));
  else
    return schemas.component(wire_struct<T, way>());
}

}  // namespace det::http
