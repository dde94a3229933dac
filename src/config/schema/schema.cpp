#include "det/config/schema/schema.h"

#include <algorithm>
#include <cmath>

namespace det::config::schema {

namespace {

Type of_kind(Kind kind) {
  Type type;
  type.kind = kind;
  return type;
}

}  // namespace

Type any() {
  return of_kind(Kind::Any);
}
Type literal() {
  return of_kind(Kind::Literal);
}
Type null() {
  return of_kind(Kind::Null);
}
Type boolean() {
  return of_kind(Kind::Bool);
}
Type integer() {
  return of_kind(Kind::Integer);
}
Type number() {
  return of_kind(Kind::Number);
}
Type string() {
  return of_kind(Kind::String);
}

Type one_of(std::vector<std::string> choices) {
  auto type = string();
  type.choices = std::move(choices);
  return type;
}

Type list(Type element) {
  auto type = of_kind(Kind::List);
  type.of.push_back(std::move(element));
  return type;
}

Type map(Type values) {
  auto type = of_kind(Kind::Map);
  type.of.push_back(std::move(values));
  return type;
}

Type section(std::vector<Field> fields) {
  auto type = of_kind(Kind::Section);
  type.fields = std::move(fields);
  return type;
}

Type tagged(std::string tag, std::vector<Field> common, std::vector<Member> members) {
  auto type = of_kind(Kind::Union);
  type.tag = std::move(tag);
  type.fields = std::move(common);
  type.members = std::move(members);
  return type;
}

Type any_of(std::vector<Type> alternatives) {
  auto type = of_kind(Kind::AnyOf);
  type.of = std::move(alternatives);
  return type;
}

Type reference(const Type& (*target)()) {
  Type type;
  type.same_as = target;
  return type;
}

Field field(std::string name, Type type, std::string about) {
  Field field{std::move(name), std::move(type), std::move(about)};
  return field;
}

Type length(std::int64_t at_least) {
  const auto count = [&] { return integer().at_least(static_cast<double>(at_least)); };
  auto type =
      section({field("batches", count(), "A number of batches."),
               field("records", count(), "A number of records."),
               field("epochs", count(), "A number of passes over the data; needs records_per_epoch.")})
          .says("a length object must have one attribute named \"batches\", \"records\", or \"epochs\"");
  type.exactly_one = true;
  return type;
}

const Type& resolved(const Type& type) {
  return type.same_as != nullptr ? resolved(type.same_as()) : type;
}

bool fits_kind(const Type& unresolved, const json::value& value) {
  const auto& type = resolved(unresolved);
  switch (type.kind) {
    case Kind::Any: return true;
    case Kind::Literal: return !value.is_object();
    case Kind::Null: return value.is_null();
    case Kind::Bool: return value.is_bool();
    case Kind::Integer:
      return value.is_int64() || value.is_uint64() ||
             (value.is_double() && std::floor(value.get_double()) == value.get_double());
    case Kind::Number: return value.is_number();
    case Kind::String: return value.is_string();
    case Kind::List: return value.is_array();
    case Kind::Map:
    case Kind::Section:
    case Kind::Union: return value.is_object();
    case Kind::AnyOf:
      return std::any_of(type.of.begin(), type.of.end(),
                         [&](const Type& option) { return fits_kind(option, value); });
  }
  return false;
}

const Type* alternative(const Type& unresolved, const json::value& value) {
  const auto& type = resolved(unresolved);
  if (type.kind != Kind::AnyOf) return &type;
  for (const auto& option : type.of)
    if (fits_kind(option, value)) return alternative(option, value);
  return nullptr;
}

const Member* find_member(const Type& type, std::string_view name) {
  const auto found = std::find_if(type.members.begin(), type.members.end(),
                                  [&](const Member& member) { return member.name == name; });
  return found == type.members.end() ? nullptr : &*found;
}

const Field* find_field(const std::vector<Field>& fields, std::string_view name) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

const Field* find_field(const Type& type, std::string_view tag, std::string_view name) {
  if (const auto* common = find_field(type.fields, name)) return common;
  const auto* member = find_member(type, tag);
  return member != nullptr ? find_field(member->fields, name) : nullptr;
}

std::string_view tag_of(const Type& type, const json::value& value) {
  const auto* object = value.if_object();
  const auto* tag = object != nullptr ? object->if_contains(type.tag) : nullptr;
  return tag != nullptr && tag->is_string() ? std::string_view(tag->get_string()) : std::string_view{};
}

}  // namespace det::config::schema
