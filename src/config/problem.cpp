#include "det/config/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace det::config {

namespace {

constexpr std::size_t kShownMax = 80;

bool is_word(std::string_view key) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '/';
  };
  return !key.empty() && key.size() <= kShownMax && std::all_of(key.begin(), key.end(), plain);
}

}  // namespace

Path operator/(Path path, std::string_view key) {
  path.emplace_back(std::string(key));
  return path;
}

Path operator/(Path path, std::size_t position) {
  path.emplace_back(position);
  return path;
}

std::string shown(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Cut only between characters: a UTF-8 continuation byte is never the first to go.
    if (i >= kShownMax && (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return out + "...";
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    // U+0080..U+009F are control characters, too; terminals act on them.
    else if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else
      out += text[i];
  }
  return out;
}

std::string to_text(const Path& path) {
  std::string out;
  for (const auto& step : path) {
    if (const auto* position = std::get_if<std::size_t>(&step)) {
      out += fmt::format("[{}]", *position);
    } else if (const auto& key = std::get<std::string>(step); is_word(key)) {
      if (!out.empty()) out += '.';
      out += key;
    } else {
      out += fmt::format("[\"{}\"]", shown(key));
    }
  }
  return out;
}

std::string to_text(std::string_view document, const Problem& problem) {
  const auto path = to_text(problem.path);
  const auto* dot = path.empty() || path.front() == '[' ? "" : ".";
  const auto line = problem.line > 0 ? fmt::format(" (line {})", problem.line) : std::string();
  return fmt::format("{}{}{}{}: {}", document, dot, path, line, problem.text);
}

}  // namespace det::config
