#include "det/base/json.h"

#include <charconv>

namespace det::json {

namespace {

// Python's json module writes NaN, Infinity and -Infinity bare. Puts quotes
// around them where they stand outside strings.
std::string quote_non_finite(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    std::string_view word;
    for (const std::string_view candidate : {"NaN", "-Infinity", "Infinity"})
      if (text.substr(i).starts_with(candidate)) word = candidate;
    if (word.empty()) {
      out += c;
    } else {
      out += fmt::format("\"{}\"", word);
      i += word.size() - 1;
    }
  }
  return out;
}

Result<value> parse_strict(std::string_view text, std::size_t depth_max) {
  boost::json::parse_options options;
  options.max_depth = depth_max;
  boost::system::error_code failure;
  boost::json::stream_parser parser({}, options);
  parser.write(text.data(), text.size(), failure);
  if (!failure) parser.finish(failure);
  if (failure) return invalid_argument("the text is not JSON: {}", failure.message());
  return parser.release();
}

}  // namespace

Result<value> parse(std::string_view text, std::size_t depth_max) {
  auto parsed = parse_strict(text, depth_max);
  if (parsed || text.find_first_of("NI") == std::string_view::npos) return parsed;
  return parse_strict(quote_non_finite(text), depth_max);
}

std::string serialize(const value& v) { return boost::json::serialize(v); }

namespace {

void write_pretty(const value& v, int indent, int depth, std::string& out) {
  const auto line = [&](int level) {
    out += '\n';
    out.append(static_cast<std::size_t>(level * indent), ' ');
  };
  if (v.is_object() && !v.get_object().empty()) {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : v.get_object()) {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
      out += boost::json::serialize(boost::json::string(key)) + ": ";
      write_pretty(member, indent, depth + 1, out);
    }
    line(depth);
    out += '}';
  } else if (v.is_array() && !v.get_array().empty()) {
    out += '[';
    bool first = true;
    for (const auto& member : v.get_array()) {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
      write_pretty(member, indent, depth + 1, out);
    }
    line(depth);
    out += ']';
  } else {
    out += boost::json::serialize(v);
  }
}

}  // namespace

std::string pretty(const value& v, int indent) {
  std::string out;
  write_pretty(v, indent, 0, out);
  return out;
}

std::optional<double> to_double(const value& v) {
  if (v.is_double()) return v.get_double();
  if (v.is_int64()) return static_cast<double>(v.get_int64());
  if (v.is_uint64()) return static_cast<double>(v.get_uint64());
  if (!v.is_string()) return std::nullopt;
  const std::string_view text = v.get_string();
  if (text == "NaN" || text == "Nan" || text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity" || text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity" || text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<std::int64_t> to_int64(const value& v) {
  if (v.is_int64()) return v.get_int64();
  if (v.is_uint64() && std::in_range<std::int64_t>(v.get_uint64())) return static_cast<std::int64_t>(v.get_uint64());
  if (v.is_double()) {
    const double number = v.get_double();
    if (number == std::floor(number) && std::abs(number) < 9007199254740992.0) return static_cast<std::int64_t>(number);
    return std::nullopt;
  }
  if (!v.is_string()) return std::nullopt;
  const std::string_view text = v.get_string();
  std::int64_t number = 0;
  const auto [at, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || at != text.data() + text.size()) return std::nullopt;
  return number;
}

value from_double(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

}  // namespace det::json
