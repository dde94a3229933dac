#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/base/json_forms.h"

/// Described structs as tables of their members, so that what is done with members is compiled once and not
/// for every struct; see wire.h, which makes the tables.
namespace det::http {

class Schemas;

/// What JSON does with one type, the type itself erased. Made by `wire_type`.
struct WireType {
  json::value (*write)(const void* x) = nullptr;  ///< Only of types that are written.
  std::optional<Error> (*read)(const json::value& v, void* out, const std::string& path) = nullptr;
  /// From the values in a path or a query; null where none can come from there.
  std::optional<Error> (*read_text)(std::span<const std::string> values, void* out,
                                    const std::string& name) = nullptr;
  json::object (*schema)(Schemas& schemas) = nullptr;
  bool (*is_unset)(const void* x) = nullptr;  ///< Of optionals.
  bool takes_null = false;                    ///< Null is a value as any other.
};

struct WireMember {
  const char* name;  ///< As in C++.
  const WireType* type;
  const void* (*at)(const void* object);
};

/// The members of one struct, which are either read or written.
struct WireStruct {
  WireStruct(const std::type_info& of, std::span<const WireMember> its_members,
             bool (*its_required)(std::string_view), bool snake_case);

  const std::type_info* type;
  std::span<const WireMember> members;
  std::vector<std::string> names;  ///< As in JSON, a name for each member.
  bool (*required)(std::string_view name);
};

enum class Way { Reads, Writes };

/// The members of T.
template <class T, Way way>
const WireStruct& wire_struct();

json::value write_members(const WireStruct& its, const void* x);
std::optional<Error> read_members(const WireStruct& its, const json::value& v, void* out,
                                  const std::string& path);

template <class T>
constexpr bool kFreeForm =
    std::is_same_v<T, json::value> || std::is_same_v<T, json::object> || std::is_same_v<T, json::array>;
template <class T>
constexpr bool kWideInteger = std::is_integral_v<T> && sizeof(T) == 8;

}  // namespace det::http
