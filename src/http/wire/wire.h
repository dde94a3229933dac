#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/http/message.h"
#include "det/http/routing/schemas.h"
#include "det/http/wire/wire_type.h"

/// Described structs as the public API writes them. It differs from
/// base/json.h, which is for what we store:
///
/// - Members are snake_case in C++ and lowerCamelCase in JSON; both are
///   accepted. The text of a json::value, object or array member, and the keys
///   of maps, are the user's and stay as they are.
/// - 64-bit integers are written as strings ("19565"): use std::int32_t for
///   what the API writes as a number. Ids are numbers. Time is RFC 3339.
/// - Scalars and lists are always written, an unset optional is left out, and
///   null means "not given" wherever it is read. Nullable and Documented are in base/json_forms.h.
/// - A type with `static constexpr bool kSnakeCase = true` keeps the C++ names: files and older programs
///   have some of our JSON in that form.
///
/// What is done with a struct's members is not instantiated for every struct:
/// templates make tables of members, and functions in wire.cpp walk them.
namespace det::http {

template <class T>
json::value to_wire(const T& x) {
  if constexpr (kFreeForm<T>) {
    return x;
  } else if constexpr (is_documented<T>::value) {
    return x.value;
  } else if constexpr (json::is_optional<T>::value || is_nullable<T>::value) {
    return x ? to_wire(*x) : json::value(nullptr);
  } else if constexpr (kWideInteger<T>) {
    return boost::json::string(std::to_string(x));
  } else if constexpr (std::is_same_v<T, Time>) {
    return boost::json::string(to_json_timestamp(x));
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
    return write_members(wire_struct<T, Way::Writes>(), &x);
  } else {
    return json::to_json(x);
  }
}

/// ", not \"abc\"": what stands where something else was expected.
std::string but_found(const json::value& found);

template <class T>
std::optional<Error> read_wire(const json::value& v, T& out, const std::string& path);

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
  } else if constexpr (is_documented<T>::value) {
    return json::read(v, out.value, path);
  } else if constexpr (json::is_optional<T>::value || is_nullable<T>::value) {
    out.reset();
    if constexpr (!std::is_same_v<T, std::optional<json::value>>)
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
    return read_members(wire_struct<T, Way::Reads>(), v, &out, path);
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
  } else if constexpr (kFreeForm<T> || is_documented<T>::value || is_nullable<T>::value || json::Map<T> ||
                       json::Set<T> || json::is_variant<T>::value ||
                       (json::Described<T> && !std::is_same_v<T, Time>)) {
    DET_ASSERT(false && "a member of this type cannot come from a path or a query");
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
  else if constexpr (kFreeForm<T> || is_documented<T>::value || is_nullable<T>::value || json::Map<T> ||
                     json::Set<T> || json::is_variant<T>::value)
    return false;
  else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Time>)
    return true;
  else if constexpr (json::Sequence<T>)
    return text_readable<typename T::value_type>();
  else
    return !json::Described<T>;
}

template <class T, Way way>
constexpr WireType make_wire_type() {
  WireType type;
  if constexpr (way == Way::Writes) {
    type.write = [](const void* x) { return to_wire(*static_cast<const T*>(x)); };
  } else {
    type.read = [](const json::value& v, void* out, const std::string& path) {
      return read_wire(v, *static_cast<T*>(out), path);
    };
    if constexpr (text_readable<T>())
      type.read_text = [](std::span<const std::string> values, void* out, const std::string& name) {
        return read_text(values, *static_cast<T*>(out), name);
      };
  }
  if constexpr (json::is_optional<T>::value)
    type.is_unset = [](const void* x) { return !static_cast<const T*>(x)->has_value(); };
  type.schema = &schema_of<T, way>;
  // An optional of any JSON tells null, which resets something, from nothing said.
  type.takes_null = std::is_same_v<T, json::value> || std::is_same_v<T, std::optional<json::value>>;
  return type;
}
template <class T, Way way>
inline constexpr WireType kWireType = make_wire_type<T, way>();

template <class T, Way way, template <class...> class List, class... D>
const WireStruct& make_wire_struct(List<D...>) {
  static constexpr std::array<WireMember, sizeof...(D)> kMembers{WireMember{
      D::name, &kWireType<std::remove_cvref_t<decltype(std::declval<T&>().*D::pointer)>, way>,
      [](const void* object) -> const void* { return &(static_cast<const T*>(object)->*D::pointer); }}...};
  bool (*required)(std::string_view) = nullptr;
  if constexpr (requires { T::required(""); })
    required = [](std::string_view name) -> bool { return T::required(name); };
  static const WireStruct kStruct(typeid(T), kMembers, required, requires { T::kSnakeCase; });
  return kStruct;
}

/// The members of T.
template <class T, Way way>
const WireStruct& wire_struct() {
  static_assert(json::Described<T>, "describe the type with BOOST_DESCRIBE_STRUCT");
  return make_wire_struct<T, way>(json::Members<T>{});
}

}  // namespace det::http
