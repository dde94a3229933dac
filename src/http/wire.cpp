#include "det/http/wire.h"

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

std::string Schemas::name_for(const std::string& cpp_name) {
  // "det::api::GetTrial" -> "GetTrial", or "apiGetTrial" where that is taken.
  std::vector<std::string> words(1);
  for (const char c : cpp_name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  std::string name;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    name = *word + name;
    const auto [entry, added] = names_.try_emplace(name, cpp_name);
    if (added || entry->second == cpp_name) return name;
  }
  for (int i = 2;; ++i) {
    const auto numbered = name + std::to_string(i);
    const auto [entry, added] = names_.try_emplace(numbered, cpp_name);
    if (added || entry->second == cpp_name) return numbered;
  }
}

json::object Schemas::components() const {
  json::object out;
  for (const auto& [name, schema] : schemas_) out[name] = schema;
  return out;
}

}  // namespace det::http
