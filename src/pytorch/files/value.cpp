#include "det/pytorch/value.h"

#include <ATen/ATen.h>

namespace det::pytorch {

namespace {

std::string text_of(const Dict::Key& key) {
  if (const auto* text = std::get_if<std::string>(&key)) return *text;
  return std::to_string(std::get<std::int64_t>(key));
}

[[noreturn]] void wrong(const char* wanted, const Value& found) {
  throw UsageError(c10::str("saved state: found ", found.kind(), "; expected ", wanted));
}

}  // namespace

Value& Dict::operator[](const Key& key) {
  for (auto& [name, value] : entries_)
    if (name == key) return value;
  return entries_.emplace_back(key, Value()).second;
}

const Value* Dict::find(const Key& key) const {
  for (const auto& [name, value] : entries_)
    if (name == key) return &value;
  return nullptr;
}

const Value& Dict::at(const Key& key) const {
  if (const auto* found = find(key)) return *found;
  std::string known;
  for (const auto& [name, value] : entries_) known += (known.empty() ? "" : ", ") + text_of(name);
  throw UsageError(
      c10::str("saved state: key ", text_of(key), " not found; it has: ", known.empty() ? "nothing" : known));
}

std::size_t Dict::size() const {
  return entries_.size();
}

const char* Value::kind() const {
  static constexpr const char* kKinds[] = {"None",     "a bool", "an integer",
                                           "a number", "a text", "a tensor",
                                           "a list",   "a dict", "an object of Python's"};
  return kKinds[held_.index()];
}

bool Value::boolean() const {
  if (const auto* value = as<bool>()) return *value;
  wrong("a bool", *this);
}

std::int64_t Value::integer() const {
  if (const auto* value = as<std::int64_t>()) return *value;
  if (const auto* value = as<at::Tensor>(); value != nullptr && value->numel() == 1)
    return value->item<std::int64_t>();
  wrong("an integer", *this);
}

double Value::number() const {
  if (const auto* value = as<double>()) return *value;
  if (const auto* value = as<std::int64_t>()) return static_cast<double>(*value);
  if (const auto* value = as<at::Tensor>(); value != nullptr && value->numel() == 1)
    return value->item<double>();
  wrong("a number", *this);
}

const std::string& Value::text() const {
  if (const auto* value = as<std::string>()) return *value;
  wrong("a text", *this);
}

const at::Tensor& Value::tensor() const {
  if (const auto* value = as<at::Tensor>()) return *value;
  wrong("a tensor", *this);
}

const List& Value::list() const {
  if (const auto* value = as<List>()) return *value;
  wrong("a list", *this);
}

const Dict& Value::dict() const {
  if (const auto* value = as<Dict>()) return *value;
  wrong("a dict", *this);
}

}  // namespace det::pytorch
