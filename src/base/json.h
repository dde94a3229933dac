#pragma once

#include <array>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "det/base/error.h"
#include "det/base/id.h"
#include "det/base/time.h"
#include "det/base/uuid.h"

/// JSON to and from described structs (BOOST_DESCRIBE_STRUCT), for wire types
/// and for what the store remembers.
///
/// - A member that is absent keeps its default; `T::required(name)` may say otherwise.
/// - Unknown members are ignored.
/// - A type with `to_json()` and `read_json(value, path)` says itself how it looks.
/// - Doubles that JSON cannot hold travel as "NaN", "Infinity" and "-Infinity".
/// - An enumerator is written by its name; a variant as {"<Alternative>": {...}}
///   where each alternative has `static constexpr const char* kName`.
/// - Every error names its path: "trials[2].length: expected an integer in range".
namespace det::json {

namespace bd = boost::describe;
using boost::json::array;
using boost::json::object;
using boost::json::value;

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_variant : std::false_type {};
template <class... T>
struct is_variant<std::variant<T...>> : std::true_type {};
template <class T>
struct is_id : std::false_type {};
template <class Tag>
struct is_id<Id<Tag>> : std::true_type {};
template <class T>
struct is_array : std::false_type {};
template <class T, std::size_t N>
struct is_array<std::array<T, N>> : std::true_type {};
template <class T>
concept Described = bd::has_describe_members<T>::value;
template <class T>
concept DescribedEnum = bd::has_describe_enumerators<T>::value;
template <class T>
concept Map = requires { typename T::mapped_type; };
template <class T>
concept Set = requires { typename T::key_type; } && !Map<T>;
template <class T>
concept Sequence =
    requires(T t) { t.push_back(typename T::value_type{}); } && !std::is_same_v<T, std::string>;
template <class T>
concept SpeaksForItself = requires(const T& t) {
  { t.to_json() } -> std::same_as<value>;
};
template <class T>
using Members = bd::describe_members<T, bd::mod_public | bd::mod_inherited>;

/// Parses text with bounded depth; duplicates keep the last. Never throws. The depth leaves
/// room for a configuration of 64 levels inside an envelope.
Result<value> parse(std::string_view text, std::size_t depth_max = 128);
/// The same for what somebody sends us: an object with two members of one name is an error that names it.
Result<value> parse_unambiguous(std::string_view text, std::size_t depth_max = 128);
/// Compact text; safe for any depth that `parse` accepts.
std::string serialize(const value& v);
/// Text indented by `indent` spaces, keys in the order held.
std::string pretty(const value& v, int indent = 4);
/// The text that an object has under a name; empty where there is none, or something else.
std::string text_member(const object& from, std::string_view name);
/// The number that `v` holds, also when written as "NaN", "Infinity", "-Infinity" or "12".
std::optional<double> to_double(const value& v);
std::optional<std::int64_t> to_int64(const value& v);
/// A double as JSON, non-finite ones as strings.
value from_double(double number);

inline Error path_error(const std::string& path, const char* rule) {
  return Error(ErrorCode::InvalidArgument, fmt::format("{}: {}", path.empty() ? "body" : path, rule));
}

inline std::string member_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

template <class T>
std::string key_text(const T& key) {
  if constexpr (std::is_same_v<T, std::string>)
    return key;
  else if constexpr (std::is_same_v<T, Uuid>)
    return uuid_text(key);
  else if constexpr (is_id<T>::value)
    return std::to_string(key.value());
  else
    return std::to_string(key);
}
template <class T>
std::optional<T> key_from_text(const std::string& text) {
  if constexpr (std::is_same_v<T, std::string>)
    return text;
  else if constexpr (std::is_same_v<T, Uuid>)
    return parse_uuid(text);
  else {
    std::int64_t number = 0;
    const auto* end = text.data() + text.size();
    const auto [at, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc{} || at != end) return std::nullopt;
    return T(number);
  }
}

template <class T>
std::optional<Error> read(const value& v, T& out, const std::string& path);

template <class T>
std::optional<Error> read_described(const value& v, T& out, const std::string& path) {
  if (!v.is_object()) return path_error(path, "expected an object");
  const auto& o = v.get_object();
  std::optional<Error> error;
  boost::mp11::mp_for_each<Members<T>>([&](auto d) {
    if (error) return;
    auto& member = out.*d.pointer;
    if (const auto* found = o.if_contains(d.name)) {
      error = read(*found, member, member_path(path, d.name));
    } else if constexpr (requires { T::required(d.name); }) {
      if (T::required(d.name)) error = path_error(member_path(path, d.name), "is required");
    }
  });
  return error;
}

template <class V, std::size_t I = 0>
std::optional<Error> read_variant(const object& o, V& out, const std::string& path) {
  if constexpr (I == std::variant_size_v<V>) {
    return path_error(path, "is not one of the known kinds");
  } else {
    using T = std::variant_alternative_t<I, V>;
    const auto* found = o.if_contains(T::kName);
    if (found == nullptr) return read_variant<V, I + 1>(o, out, path);
    return read(*found, out.template emplace<I>(), path + "." + T::kName);
  }
}

template <class T>
std::optional<Error> read(const value& v, T& out, const std::string& path) {
  if constexpr (is_optional<T>::value) {
    out.reset();
    if (v.is_null()) return std::nullopt;
    return read(v, out.emplace(), path);
  } else if constexpr (SpeaksForItself<T>) {
    return out.read_json(v, path);
  } else if constexpr (std::is_same_v<T, value>) {
    out = v;
  } else if constexpr (std::is_same_v<T, object>) {
    if (!v.is_object()) return path_error(path, "expected an object");
    out = v.get_object();
  } else if constexpr (std::is_same_v<T, array>) {
    if (!v.is_array()) return path_error(path, "expected a list");
    out = v.get_array();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!v.is_bool()) return path_error(path, "expected true or false");
    out = v.get_bool();
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (v.is_uint64()) {
        out = v.get_uint64();
        return std::nullopt;
      }
    }
    const auto number = to_int64(v);
    if (!number || !std::in_range<T>(*number)) return path_error(path, "expected an integer in range");
    out = static_cast<T>(*number);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto number = to_double(v);
    if (!number) return path_error(path, "expected a number");
    out = static_cast<T>(*number);
  } else if constexpr (is_id<T>::value) {
    const auto number = to_int64(v);
    if (!number) return path_error(path, "expected an id");
    out = T(*number);
  } else if constexpr (std::is_same_v<T, Time>) {
    if (v.is_string()) {
      const auto time = parse_rfc3339(v.get_string());
      if (!time) return path_error(path, "expected a time such as 2026-01-02T03:04:05Z");
      out = *time;
    } else {
      const auto number = to_int64(v);
      if (!number) return path_error(path, "expected a time");
      out = Time{*number};
    }
  } else if constexpr (std::is_same_v<T, Uuid>) {
    const auto uuid = v.is_string() ? parse_uuid(v.get_string()) : std::nullopt;
    if (!uuid) return path_error(path, "expected a UUID in lower case");
    out = *uuid;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!v.is_string()) return path_error(path, "expected a string");
    out.assign(v.get_string());
  } else if constexpr (DescribedEnum<T>) {
    if (!v.is_string() || !bd::enum_from_string(std::string(v.get_string()).c_str(), out))
      return path_error(path, "is not one of the allowed names");
  } else if constexpr (is_variant<T>::value) {
    if (!v.is_object()) return path_error(path, "expected an object");
    return read_variant(v.get_object(), out, path);
  } else if constexpr (is_array<T>::value) {
    if (!v.is_array() || v.get_array().size() != out.size())
      return path_error(path, "is a list of the wrong length");
    for (std::size_t i = 0; i < out.size(); ++i)
      if (auto error = read(v.get_array()[i], out[i], fmt::format("{}[{}]", path, i))) return error;
  } else if constexpr (Map<T>) {
    if (!v.is_object()) return path_error(path, "expected an object");
    out.clear();
    for (const auto& [k, x] : v.get_object()) {
      const auto key = key_from_text<typename T::key_type>(std::string(k));
      if (!key) return path_error(path, "has a key that is not an id");
      if (auto error = read(x, out[*key], path + "." + std::string(k))) return error;
    }
  } else if constexpr (Set<T>) {
    if (!v.is_array()) return path_error(path, "expected a list");
    out.clear();
    std::size_t i = 0;
    for (const auto& x : v.get_array()) {
      typename T::key_type key{};
      if (auto error = read(x, key, fmt::format("{}[{}]", path, i++))) return error;
      out.insert(std::move(key));
    }
  } else if constexpr (Sequence<T>) {
    if (!v.is_array()) return path_error(path, "expected a list");
    out.clear();
    std::size_t i = 0;
    for (const auto& x : v.get_array()) {
      typename T::value_type item{};
      if (auto error = read(x, item, fmt::format("{}[{}]", path, i++))) return error;
      out.push_back(std::move(item));
    }
  } else {
    static_assert(Described<T>, "describe the type with BOOST_DESCRIBE_STRUCT");
    return read_described(v, out, path);
  }
  return std::nullopt;
}

/// Reads `v` into a T, or says what is wrong and where.
template <class T>
Result<T> from_json(const value& v) {
  T out{};
  if (auto error = read(v, out, "")) return tl::unexpected(*std::move(error));
  return out;
}

template <class T>
value to_json(const T& x) {
  if constexpr (is_optional<T>::value) {
    return x ? to_json(*x) : value(nullptr);
  } else if constexpr (SpeaksForItself<T>) {
    return x.to_json();
  } else if constexpr (std::is_same_v<T, value>) {
    return x;
  } else if constexpr (std::is_same_v<T, object> || std::is_same_v<T, array>) {
    return x;
  } else if constexpr (std::is_floating_point_v<T>) {
    return from_double(x);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value(x);
  } else if constexpr (is_id<T>::value) {
    return value(x.value());
  } else if constexpr (std::is_same_v<T, Time>) {
    return value(x.microseconds);
  } else if constexpr (std::is_same_v<T, Uuid>) {
    return boost::json::string(uuid_text(x));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return boost::json::string(x);
  } else if constexpr (DescribedEnum<T>) {
    return boost::json::string(bd::enum_to_string(x, "?"));
  } else if constexpr (is_variant<T>::value) {
    return std::visit(
        [](const auto& alternative) {
          object o;
          o[std::decay_t<decltype(alternative)>::kName] = to_json(alternative);
          return value(std::move(o));
        },
        x);
  } else if constexpr (Map<T>) {
    object o;
    for (const auto& [k, y] : x) o[key_text(k)] = to_json(y);
    return o;
  } else if constexpr (Set<T> || Sequence<T> || is_array<T>::value) {
    array a;
    a.reserve(x.size());
    for (const auto& y : x) a.push_back(to_json(y));
    return a;
  } else {
    static_assert(Described<T>, "describe the type with BOOST_DESCRIBE_STRUCT");
    object o;
    boost::mp11::mp_for_each<Members<T>>([&](auto d) {
      const auto& member = x.*d.pointer;
      if constexpr (is_optional<std::remove_cvref_t<decltype(member)>>::value) {
        if (!member) return;
      }
      o[d.name] = to_json(member);
    });
    return o;
  }
}

}  // namespace det::json
