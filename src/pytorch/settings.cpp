#include "det/pytorch/settings.h"

#include <charconv>

#include "det/base/json.h"

namespace det::pytorch {

/// A value and what keeps the document that it is part of.
struct Settings::Node {
  std::shared_ptr<const json::value> document;
  const json::value* value = nullptr;
};

namespace {

const char* type_of(const json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: return "null";
    case boost::json::kind::bool_: return "true or false";
    case boost::json::kind::int64:
    case boost::json::kind::uint64: return "a whole number";
    case boost::json::kind::double_: return "a number";
    case boost::json::kind::string: return "a string";
    case boost::json::kind::array: return "a list";
    case boost::json::kind::object: return "a map";
  }
  return "a value";
}

const json::value* member(const json::value& value, std::string_view name) {
  if (const auto* object = value.if_object()) return object->if_contains(name);
  if (const auto* list = value.if_array()) {
    std::size_t index = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (failure == std::errc() && end == name.data() + name.size() && index < list->size())
      return &(*list)[index];
  }
  return nullptr;
}

/// A name with dots in it may be one name; the longest that exists is taken.
const json::value* walk(const json::value& value, std::string_view name) {
  if (const auto* whole = member(value, name)) return whole;
  for (auto dot = name.rfind('.'); dot != std::string_view::npos && dot > 0; dot = name.rfind('.', dot - 1))
    if (const auto* part = member(value, name.substr(0, dot)))
      if (const auto* rest = walk(*part, name.substr(dot + 1))) return rest;
  return nullptr;
}

void list_names(const json::value& value, const std::string& prefix, std::string& text) {
  const auto* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& [key, inner] : *object) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", prefix, std::string_view(key));
    list_names(inner, fmt::format("{}{}.", prefix, std::string_view(key)), text);
  }
}

}  // namespace

Settings::Settings(std::shared_ptr<const Node> node, std::string what, std::string where)
    : node_(std::move(node)), what_(std::move(what)), where_(std::move(where)) {}

Settings::Settings() : Settings(from_json("{}", "setting", "configuration")) {}

Settings Settings::from_json(const std::string& text, std::string what, std::string where) {
  auto parsed = json::parse(text);
  if (!parsed) throw UsageError(fmt::format("{}: {}", where, parsed.error().message()));
  if (!parsed->is_object())
    throw UsageError(fmt::format("{} is {}; it must be a map", where, type_of(*parsed)));
  auto document = std::make_shared<const json::value>(*std::move(parsed));
  auto node = std::make_shared<Node>();
  node->value = document.get();
  node->document = std::move(document);
  return Settings(std::move(node), std::move(what), std::move(where));
}

Settings Settings::find(const std::string& name) const {
  const auto* value = walk(*node_->value, name);
  if (value == nullptr) {
    std::string known;
    list_names(*node_->value, "", known);
    throw UsageError(fmt::format("the {} {} is not set; {} in the experiment configuration has: {}", what_,
                                 name_.empty() ? name : name_ + "." + name, where_,
                                 known.empty() ? "nothing" : known));
  }
  auto node = std::make_shared<Node>();
  node->document = node_->document;
  node->value = value;
  Settings found(std::move(node), what_, where_);
  found.name_ = name_.empty() ? name : name_ + "." + name;
  return found;
}

bool Settings::contains(const std::string& name) const {
  const auto* value = walk(*node_->value, name);
  return value != nullptr && !value->is_null();
}

std::vector<std::string> Settings::names() const {
  std::vector<std::string> names;
  if (const auto* object = node_->value->if_object())
    for (const auto& [key, value] : *object) names.emplace_back(key);
  return names;
}

std::size_t Settings::size() const {
  if (const auto* object = node_->value->if_object()) return object->size();
  const auto* list = node_->value->if_array();
  return list != nullptr ? list->size() : 0;
}

std::string Settings::json() const {
  return det::json::serialize(*node_->value);
}

void Settings::wrong_type(const char* wanted) const {
  throw UsageError(fmt::format("{}.{} is {}, {}; the trial needs {}", where_, name_,
                               det::json::serialize(*node_->value).substr(0, 80), type_of(*node_->value),
                               wanted));
}

bool Settings::read_bool() const {
  if (const auto* value = node_->value->if_bool()) return *value;
  wrong_type("true or false");
}

std::int64_t Settings::read_integer(std::int64_t low, std::uint64_t high) const {
  const auto& value = *node_->value;
  if (value.is_uint64()) {
    if (value.get_uint64() > high) out_of_range(low, high);
    return static_cast<std::int64_t>(value.get_uint64());
  }
  if (!value.is_int64()) wrong_type("a whole number");
  const auto number = value.get_int64();
  if (number < low || (number > 0 && static_cast<std::uint64_t>(number) > high)) out_of_range(low, high);
  return number;
}

void Settings::out_of_range(std::int64_t low, std::uint64_t high) const {
  throw UsageError(fmt::format("{}.{} is {}; it must be from {} to {}", where_, name_,
                               det::json::serialize(*node_->value), low, high));
}

double Settings::read_number() const {
  if (!node_->value->is_string())
    if (const auto number = det::json::to_double(*node_->value)) return *number;
  wrong_type("a number");
}

std::string Settings::read_text() const {
  if (const auto* text = node_->value->if_string()) return std::string(*text);
  wrong_type("a string");
}

std::vector<Settings> Settings::read_list() const {
  const auto* list = node_->value->if_array();
  if (list == nullptr) wrong_type("a list");
  std::vector<Settings> elements;
  for (std::size_t i = 0; i < list->size(); ++i) elements.push_back(find(std::to_string(i)));
  return elements;
}

}  // namespace det::pytorch
