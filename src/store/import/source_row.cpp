#include "det/store/import/source_row.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace det::store {

std::string SourceRow::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

std::optional<std::int64_t> SourceRow::integer(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  const auto& text = found->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> SourceRow::number(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  char* end = nullptr;  // strtod also reads NaN and Infinity
  const double number = std::strtod(found->second.c_str(), &end);
  if (found->second.empty() || *end != '\0') return std::nullopt;
  return number;
}

bool SourceRow::flag(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() && (found->second == "true" || found->second == "t");
}

std::optional<Time> SourceRow::time(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : parse_postgres_time(found->second);
}

json::value SourceRow::document(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return nullptr;
  auto value = json::parse(found->second);
  return value ? *std::move(value) : json::value(nullptr);
}

json::object SourceRow::object(std::string_view name) const {
  auto value = document(name);
  return value.is_object() ? std::move(value.get_object()) : json::object{};
}

std::vector<std::string> SourceRow::texts(std::string_view name) const {
  std::vector<std::string> texts;
  const auto value = document(name);
  if (const auto* array = value.if_array())
    for (const auto& item : *array)
      if (item.is_string()) texts.emplace_back(item.get_string());
  return texts;
}

void SourceDigest::add(std::string_view bytes) {
  for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash_ = (hash_ ^ 0xff) * 0x100000001b3;  // in no UTF-8: an end
}

void SourceDigest::add(const SourceRow& row) {
  for (const auto& [name, value] : row.values_) add(name), add(value);
  hash_ = (hash_ ^ 0xfe) * 0x100000001b3;
}

std::string SourceDigest::text() const {
  return fmt::format("{:016x}", hash_);
}

std::optional<Time> parse_postgres_time(std::string_view text) {
  std::string rfc3339(text);
  const auto space = rfc3339.find(' ');
  if (space == std::string::npos) return std::nullopt;
  rfc3339[space] = 'T';
  const auto offset = rfc3339.find_first_of("+-", space);
  if (offset == std::string::npos)
    rfc3339 += 'Z';
  else if (rfc3339.size() - offset == 3)
    rfc3339 += ":00";
  const auto time = parse_rfc3339(rfc3339);
  return time ? std::optional(*time) : std::nullopt;
}

void restore_numbers(json::value& value) {
  if (auto* object = value.if_object()) {
    for (auto& member : *object) restore_numbers(member.value());
  } else if (auto* array = value.if_array()) {
    for (auto& item : *array) restore_numbers(item);
  } else if (const auto* text = value.if_string()) {
    constexpr auto kInfinity = std::numeric_limits<double>::infinity();
    if (*text == "NaN")
      value = std::numeric_limits<double>::quiet_NaN();
    else if (*text == "Infinity")
      value = kInfinity;
    else if (*text == "-Infinity")
      value = -kInfinity;
  }
}

}  // namespace det::store
