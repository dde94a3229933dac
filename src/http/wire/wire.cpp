#include "det/http/wire/wire.h"

#include <cctype>

namespace det::http {

std::string but_found(const json::value& found) {
  auto text = json::serialize(found);
  constexpr std::size_t kLengthMax = 40;
  if (text.size() > kLengthMax) {
    std::size_t end = kLengthMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;  // whole characters
    text = text.substr(0, end) + "…";
  }
  return ", not " + text;
}

WireStruct::WireStruct(const std::type_info& of, std::span<const WireMember> its_members,
                       bool (*its_required)(std::string_view), bool snake_case)
    : type(&of), members(its_members), required(its_required) {
  for (const auto& member : members)
    names.push_back(snake_case ? std::string(member.name) : camel_case(member.name));
}

json::value write_members(const WireStruct& its, const void* x) {
  json::object o;
  o.reserve(its.members.size());
  for (std::size_t i = 0; i < its.members.size(); ++i) {
    const auto& [name, type, at] = its.members[i];
    const auto* member = at(x);
    if (type->is_unset != nullptr && type->is_unset(member)) continue;
    o[its.names[i]] = type->write(member);
  }
  return o;
}

std::optional<Error> read_members(const WireStruct& its, const json::value& v, void* out,
                                  const std::string& path) {
  if (!v.is_object()) return json::path_error(path, ("expected an object" + but_found(v)).c_str());
  const auto& o = v.get_object();
  for (std::size_t i = 0; i < its.members.size(); ++i) {
    const auto& [name, type, at] = its.members[i];
    const auto* found = o.if_contains(its.names[i]);
    if (found == nullptr) found = o.if_contains(name);
    const auto member_path = path.empty() ? its.names[i] : path + "." + its.names[i];
    if (found != nullptr && (!found->is_null() || type->takes_null)) {
      // `at` is for structs of either kind; this one is not constant.
      if (auto error = type->read(*found, const_cast<void*>(at(out)), member_path)) return error;
    } else if (its.required != nullptr && its.required(name)) {
      return json::path_error(member_path, "is required");
    }
  }
  return std::nullopt;
}

}  // namespace det::http
