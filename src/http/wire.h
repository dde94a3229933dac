#pragma once

#include <algorithm>
#include <array>
#include <boost/core/demangle.hpp>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/http/message.h"

/// Described structs as the public API writes them. It differs from
/// base/json.h, which is for what we store:
///
/// - Members are snake_case in C++ and lowerCamelCase in JSON; both are
///   accepted. The text of a json::value, object or array member, and the keys
///   of maps, are the user's and stay as they are.
/// - 64-bit integers are written as strings ("19565"): use std::int32_t for
///   what the API writes as a number. Ids are numbers. Time is RFC 3339.
/// - Scalars and lists are always written, an unset optional is left out, and
///   null means "not given" wherever it is read.
namespace det::http {

/// The names of T's members in JSON, in order; made once.
template <class T>
const auto& wire_names() {
  constexpr auto count = boost::mp11::mp_size<json::Members<T>>::value;
  static const std::array<std::string, count> names = [] {
    std::array<std::string, count> out;
    std::size_t i = 0;
    boost::mp11::mp_for_each<json::Members<T>>([&](auto d) { out[i++] = camel_case(d.name); });
    return out;
  }();
  return names;
}

template <class T>
constexpr bool kFreeForm =
    std::is_same_v<T, json::value> || std::is_same_v<T, json::object> || std::is_same_v<T, json::array>;
template <class T>
constexpr bool kWideInteger = std::is_integral_v<T> && sizeof(T) == 8;

template <class T>
json::value to_wire(const T& x) {
  if constexpr (kFreeForm<T>) {
    return x;
  } else if constexpr (json::is_optional<T>::value) {
    return x ? to_wire(*x) : json::value(nullptr);
  } else if constexpr (kWideInteger<T>) {
    return boost::json::string(std::to_string(x));
  } else if constexpr (std::is_same_v<T, Time>) {
    return boost::json::string(to_rfc3339(x));
  } else if constexpr (json::is_variant<T>::value) {
    return std::visit(
        [](const auto& alternative) {
          json::object o;
          o[camel_case(std::decay_t<decltype(alternative)>::kName)] = to_wire(alternative);
          return json::value(std::move(o));
        },
        x);
  } else if constexpr (json::Map<T>) {
    json::object o;
    for (const auto& [key, item] : x) o[json::key_text(key)] = to_wire(item);
    return o;
  } else if constexpr (json::Set<T> || json::Sequence<T> || json::is_array<T>::value) {
    json::array a;
    a.reserve(x.size());
    for (const auto& item : x) a.push_back(to_wire(item));
    return a;
  } else if constexpr (json::Described<T>) {
    json::object o;
    const auto& names = wire_names<T>();
    o.reserve(names.size());
    std::size_t i = 0;
    boost::mp11::mp_for_each<json::Members<T>>([&](auto d) {
      const auto& name = names[i++];
      const auto& member = x.*d.pointer;
      if constexpr (json::is_optional<std::remove_cvref_t<decltype(member)>>::value) {
        if (!member) return;
      }
      o[name] = to_wire(member);
    });
    return o;
  } else {
    return json::to_json(x);
  }
}

/// ", not \"abc\"": what stands where something else was expected.
std::string but_found(const json::value& found);

template <class T>
std::optional<Error> read_wire(const json::value& v, T& out, const std::string& path);

template <class T>
std::optional<Error> read_wire_members(const json::value& v, T& out, const std::string& path) {
  if (!v.is_object()) return json::path_error(path, ("expected an object" + but_found(v)).c_str());
  const auto& o = v.get_object();
  const auto& names = wire_names<T>();
  std::optional<Error> error;
  std::size_t i = 0;
  boost::mp11::mp_for_each<json::Members<T>>([&](auto d) {
    const auto& name = names[i++];
    if (error) return;
    const auto member_path = path.empty() ? name : path + "." + name;
    const auto* found = o.if_contains(name);
    if (found == nullptr) found = o.if_contains(d.name);
    using Member = std::remove_cvref_t<decltype(out.*d.pointer)>;
    if (found != nullptr && (!found->is_null() || std::is_same_v<Member, json::value>)) {
      error = read_wire(*found, out.*d.pointer, member_path);
    } else if constexpr (requires { T::required(d.name); }) {
      if (T::required(d.name)) error = json::path_error(member_path, "is required");
    }
  });
  return error;
}

template <class V, std::size_t I = 0>
std::optional<Error> read_wire_variant(const json::object& o, V& out, const std::string& path) {
  if constexpr (I == std::variant_size_v<V>) {
    return json::path_error(path, "is not one of the known kinds");
  } else {
    using T = std::variant_alternative_t<I, V>;
    const auto name = camel_case(T::kName);
    const auto* found = o.if_contains(name);
    if (found == nullptr) found = o.if_contains(T::kName);
    if (found == nullptr) return read_wire_variant<V, I + 1>(o, out, path);
    return read_wire(*found, out.template emplace<I>(), path.empty() ? name : path + "." + name);
  }
}

template <class T>
std::optional<Error> read_wire(const json::value& v, T& out, const std::string& path) {
  if constexpr (kFreeForm<T>) {
    return json::read(v, out, path);
  } else if constexpr (json::is_optional<T>::value) {
    out.reset();
    if (v.is_null()) return std::nullopt;
    return read_wire(v, out.emplace(), path);
  } else if constexpr (json::is_variant<T>::value) {
    if (!v.is_object()) return json::path_error(path, ("expected an object" + but_found(v)).c_str());
    return read_wire_variant(v.get_object(), out, path);
  } else if constexpr (json::Map<T>) {
    if (!v.is_object()) return json::path_error(path, ("expected an object" + but_found(v)).c_str());
    out.clear();
    for (const auto& [k, item] : v.get_object()) {
      const auto key = json::key_from_text<typename T::key_type>(std::string(k));
      if (!key) return json::path_error(path, "has a key that is not an id");
      if (auto error = read_wire(item, out[*key], path + "." + std::string(k))) return error;
    }
  } else if constexpr (json::Sequence<T> || json::Set<T>) {
    if (!v.is_array()) return json::path_error(path, ("expected a list" + but_found(v)).c_str());
    out.clear();
    std::size_t i = 0;
    for (const auto& item : v.get_array()) {
      typename T::value_type read{};
      if (auto error = read_wire(item, read, fmt::format("{}[{}]", path, i++))) return error;
      if constexpr (json::Set<T>)
        out.insert(std::move(read));
      else
        out.push_back(std::move(read));
    }
  } else if constexpr (json::is_array<T>::value) {
    if (!v.is_array() || v.get_array().size() != out.size())
      return json::path_error(path, "is a list of the wrong length");
    for (std::size_t i = 0; i < out.size(); ++i)
      if (auto error = read_wire(v.get_array()[i], out[i], fmt::format("{}[{}]", path, i))) return error;
  } else if constexpr (json::Described<T> && !std::is_same_v<T, Time>) {
    return read_wire_members(v, out, path);
  } else {
    if (auto error = json::read(v, out, path)) return Error(error->code(), error->message() + but_found(v));
  }
  return std::nullopt;
}

/// Reads a request or reply body, or says what is wrong and where.
template <class T>
Result<T> from_wire(const json::value& v) {
  T out{};
  if (auto error = read_wire(v, out, "")) return tl::unexpected(*std::move(error));
  return out;
}

template <class T>
Result<T> from_wire_text(std::string_view text) {
  DET_TRY(const auto v, json::parse(text.empty() ? std::string_view("{}") : text));
  return from_wire<T>(v);
}

template <class T>
std::string to_wire_text(const T& x, bool pretty = false) {
  const auto v = to_wire(x);
  return pretty ? json::pretty(v) : json::serialize(v);
}

/// Reads one member from text in a path or a query: numbers, booleans, names
/// of enumerations, times, ids, text, and lists of them (a value each).
template <class T>
std::optional<Error> read_text(std::span<const std::string> values, T& out, const std::string& name) {
  if constexpr (json::is_optional<T>::value) {
    return read_text(values, out.emplace(), name);
  } else if constexpr (!kFreeForm<T> && json::Sequence<T>) {
    out.clear();
    for (const auto& text : values) {
      typename T::value_type item{};
      if (auto error = read_text(std::span(&text, 1), item, name)) return error;
      out.push_back(std::move(item));
    }
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, bool>) {
    const auto& text = values.back();
    out = text == "true" || text == "1" || text == "True" || text.empty();
    if (!out && text != "false" && text != "0" && text != "False")
      return json::path_error(name, fmt::format("expected true or false, not \"{}\"", text).c_str());
    return std::nullopt;
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto parsed = json::parse(values.back());
    return read_wire(parsed ? *parsed : json::value(values.back()), out, name);
  } else if constexpr (kFreeForm<T> || json::Map<T> || json::Set<T> || json::is_variant<T>::value ||
                       (json::Described<T> && !std::is_same_v<T, Time>)) {
    DET_ASSERT(!"a member of this type cannot come from a path or a query");
    return std::nullopt;
  } else {
    return read_wire(json::value(boost::json::string(values.back())), out, name);
  }
}

/// Whether read_text can read a T.
template <class T>
constexpr bool text_readable() {
  if constexpr (json::is_optional<T>::value)
    return text_readable<typename T::value_type>();
  else if constexpr (kFreeForm<T> || json::Map<T> || json::Set<T> || json::is_variant<T>::value)
    return false;
  else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Time>)
    return true;
  else if constexpr (json::Sequence<T>)
    return text_readable<typename T::value_type>();
  else
    return !json::Described<T>;
}

/// OpenAPI schemas of described types, gathered under their names.
class Schemas {
 public:
  /// The schema of T: inline, or a reference to a component.
  template <class T>
  json::object of() {
    if constexpr (std::is_same_v<T, json::value>)
      return {};
    else if constexpr (std::is_same_v<T, json::object>)
      return {{"type", "object"}, {"additionalProperties", true}};
    else if constexpr (std::is_same_v<T, json::array>)
      return {{"type", "array"}, {"items", json::object{}}};
    else if constexpr (json::is_optional<T>::value)
      return of<typename T::value_type>();
    else if constexpr (std::is_same_v<T, bool>)
      return {{"type", "boolean"}};
    else if constexpr (kWideInteger<T>)
      return {{"type", "string"}, {"format", "int64"}};
    else if constexpr (std::is_integral_v<T> || json::is_id<T>::value)
      return {{"type", "integer"}};
    else if constexpr (std::is_floating_point_v<T>)
      return {{"type", "number"}, {"format", "double"}};
    else if constexpr (std::is_same_v<T, std::string>)
      return {{"type", "string"}};
    else if constexpr (std::is_same_v<T, Time>)
      return {{"type", "string"}, {"format", "date-time"}};
    else if constexpr (json::DescribedEnum<T>)
      return enumeration<T>();
    else if constexpr (json::is_variant<T>::value)
      return variant(static_cast<T*>(nullptr));
    else if constexpr (json::Map<T>)
      return {{"type", "object"}, {"additionalProperties", of<typename T::mapped_type>()}};
    else if constexpr (json::Set<T> || json::Sequence<T> || json::is_array<T>::value)
      return {{"type", "array"}, {"items", of<typename T::value_type>()}};
    else
      return component<T>();
  }

  /// All components so far, sorted by name.
  json::object components() const;

 private:
  /// The component's name for a C++ type; two types never share one.
  std::string name_for(const std::string& cpp_name);

  template <class T>
  json::object enumeration() {
    json::array names;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
        [&](auto d) { names.emplace_back(d.name); });
    return {{"type", "string"}, {"enum", std::move(names)}};
  }

  template <class... T>
  json::object variant(std::variant<T...>*) {
    json::object properties;
    ((properties[camel_case(T::kName)] = of<T>()), ...);
    return {{"type", "object"}, {"properties", std::move(properties)}, {"maxProperties", 1}};
  }

  template <class T>
  json::object component() {
    static_assert(json::Described<T>, "describe the type with BOOST_DESCRIBE_STRUCT");
    const auto name = name_for(boost::core::demangle(typeid(T).name()));
    json::object reference{{"$ref", "#/components/schemas/" + name}};
    if (schemas_.contains(name)) return reference;
    schemas_[name];  // a type that contains itself finds its own name
    json::object properties;
    json::array required;
    boost::mp11::mp_for_each<json::Members<T>>([&](auto d) {
      properties[camel_case(d.name)] = of<std::remove_cvref_t<decltype(std::declval<T&>().*d.pointer)>>();
      if constexpr (requires { T::required(d.name); }) {
        if (T::required(d.name)) required.emplace_back(camel_case(d.name));
      }
    });
    json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) schema["required"] = std::move(required);
    schemas_[name] = std::move(schema);
    return reference;
  }

  std::map<std::string, json::object> schemas_;
  std::map<std::string, std::string> names_;  // component -> C++ type
};

}  // namespace det::http
