#include <algorithm>
#include <cmath>
#include <vector>

#include "det/config/yaml/yaml.h"

namespace det::config {

namespace {

// Whether a text can stand without quotes and be read back as the same text by
// YAML 1.1 and 1.2 programs alike. Cautious: words, paths and sentences without
// any character that YAML gives a meaning to.
bool is_safe_plain(std::string_view text) {
  if (text.empty() || text.size() > 200) return false;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
  };
  const auto inner = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ' ' || c == '(' || c == ')' ||
           c == '+' || c == '=';
  };
  if (!letter(text.front()) || text.back() == ' ') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // "model_def:MNistTrial": a colon is plain unless a space follows.
    const bool colon = text[i] == ':' && i + 1 < text.size() && text[i + 1] != ' ';
    if (!colon && !inner(text[i])) return false;
  }
  if (text == "y" || text == "Y" || text == "n" || text == "N") return false;
  const auto scalar = read_plain_scalar(text);
  return scalar.refusal.empty() && scalar.value.is_string();
}

std::string text_of(std::string_view text) {
  return is_safe_plain(text) ? std::string(text) : json::serialize(json::value(text));
}

std::string scalar_of(const json::value& value) {
  if (value.is_string()) return text_of(value.get_string());
  if (!value.is_double()) return json::serialize(value);
  const double number = value.get_double();
  if (!std::isfinite(number)) return text_of(json::from_double(number).get_string());
  auto text = fmt::format("{}", number);
  // "1e-05" is text to PyYAML, "1.0e-05" is a number to everyone.
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

bool is_block(const json::value& value) {
  return (value.is_object() && !value.get_object().empty()) ||
         (value.is_array() && !value.get_array().empty());
}

void emit(const json::value& value, int indent, bool inside_line, std::string& out) {
  const auto start_line = [&](bool first) {
    if (!(first && inside_line)) out.append(static_cast<std::size_t>(indent), ' ');
  };
  bool first = true;
  if (value.is_object()) {
    std::vector<const json::object::value_type*> members;
    for (const auto& member : value.get_object()) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->key() < b->key(); });
    for (const auto* member : members) {
      start_line(std::exchange(first, false));
      // A key of more than 1024 characters must be announced.
      auto key = text_of(member->key());
      const bool announced = key.size() > 1000;
      out += announced ? "? " + key + "\n" + std::string(static_cast<std::size_t>(indent), ' ') + ":"
                       : key + ":";
      if (is_block(member->value())) {
        out += '\n';
        emit(member->value(), indent + (member->value().is_array() ? 0 : 2), false, out);
      } else {
        out += ' ' + scalar_of(member->value()) + '\n';
      }
    }
    return;
  }
  for (const auto& element : value.get_array()) {
    start_line(std::exchange(first, false));
    out += "- ";
    if (is_block(element))
      emit(element, indent + 2, true, out);
    else
      out += scalar_of(element) + '\n';
  }
}

}  // namespace

std::string emit_yaml(const json::value& value) {
  if (!is_block(value)) return scalar_of(value) + "\n";
  std::string out;
  emit(value, 0, false, out);
  return out;
}

}  // namespace det::config
