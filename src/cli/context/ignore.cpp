#include "det/cli/context/ignore.h"

#include <span>

#include "det/base/text.h"

namespace det::cli {
namespace {

// Reads the class after "[" at `at`; whether `c` is in it. Moves `at` behind
// the "]"; leaves it where it is when the class never ends.
bool in_class(std::string_view pattern, std::size_t& at, char c, bool& closed) {
  auto i = at;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  const auto next = [&]() {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    return static_cast<unsigned char>(pattern[i++]);
  };
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    const auto low = next();
    auto high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      ++i;
      high = next();
    }
    const auto byte = static_cast<unsigned char>(c);
    found = found || (low <= byte && byte <= high);
  }
  closed = i < pattern.size();
  if (closed) at = i + 1;
  return found != negated;
}

// One path segment against one pattern segment. On a mismatch goes back to the
// last star only: that is enough, and it is never exponential.
bool segment_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0;
  std::size_t star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    bool matched = false;
    std::size_t after = p;
    if (p < pattern.size()) {
      const char c = pattern[p];
      if (c == '*') {
        star = ++p;
        star_name = n;
        continue;
      }
      after = p + 1;
      if (c == '?') {
        matched = true;
      } else if (c == '[') {
        bool closed = false;
        matched = in_class(pattern, after, name[n], closed);
        if (!closed) matched = name[n] == '[';
      } else if (c == '\\' && p + 1 < pattern.size()) {
        matched = pattern[p + 1] == name[n];
        ++after;
      } else {
        matched = c == name[n];
      }
    }
    if (matched) {
      p = after;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool path_matches(std::span<const std::string> pattern, std::span<const std::string> path) {
  if (pattern.empty()) return path.empty();
  if (pattern[0] == "**") {
    // At the end "everything inside", elsewhere "any directories, or none".
    if (pattern.size() == 1) return !path.empty();
    for (std::size_t skipped = 0; skipped <= path.size(); ++skipped)
      if (path_matches(pattern.subspan(1), path.subspan(skipped))) return true;
    return false;
  }
  return !path.empty() && segment_matches(pattern[0], path[0]) &&
         path_matches(pattern.subspan(1), path.subspan(1));
}

}  // namespace

void IgnoreRules::add(std::string_view text) {
  for (auto line : split(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    while (line.ends_with(' ') && !line.ends_with("\\ ")) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    Rule rule;
    if (line.starts_with('!')) {
      rule.negated = true;
      line.erase(0, 1);
    }
    if (line.ends_with('/')) {
      rule.directories_only = true;
      line.pop_back();
    }
    const bool anchored = line.find('/') != std::string::npos;
    if (line.starts_with('/')) line.erase(0, 1);
    if (line.empty()) continue;
    if (!anchored) rule.segments.push_back("**");
    for (auto& segment : split(line, '/')) {
      // Neighbours of "**" that are "**" add nothing but time.
      if (segment == "**" && !rule.segments.empty() && rule.segments.back() == "**") continue;
      rule.segments.push_back(std::move(segment));
    }
    rules_.push_back(std::move(rule));
  }
}

bool IgnoreRules::ignored(std::string_view path, bool is_directory) const {
  const auto segments = split(path, '/');
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->directories_only && !is_directory) continue;
    if (path_matches(rule->segments, segments)) return !rule->negated;
  }
  return false;
}

}  // namespace det::cli
