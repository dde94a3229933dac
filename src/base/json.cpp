#include "det/base/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <unordered_set>

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

// Builds the value that the parser reads, as boost::json::parser does, except for
// doubles: that one is wrong in the last bit for every tenth of them (Boost 1.81),
// and a learning rate that is read back must be the one that was written.
class Builder {
 public:
  static constexpr std::size_t max_object_size = object::max_size();
  static constexpr std::size_t max_array_size = array::max_size();
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();
  using Text = boost::json::string_view;
  using Failure = boost::json::error_code;

  /// With `unique_names` two members of one name in an object are an error; else the last one counts.
  explicit Builder(bool unique_names) : unique_names_(unique_names) {}

  value release() { return stack_.release(); }
  /// The name that stood twice, if that was the error.
  const std::optional<std::string>& twice() const { return twice_; }

  bool on_document_begin(Failure&) {
    stack_.reset();
    return true;
  }
  bool on_document_end(Failure&) { return true; }
  bool on_object_begin(Failure&) {
    if (unique_names_) names_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t n, Failure&) {
    if (unique_names_) names_.pop_back();
    return stack_.push_object(n), done();
  }
  bool on_array_begin(Failure&) { return true; }
  bool on_array_end(std::size_t n, Failure&) { return stack_.push_array(n), done(); }
  bool on_key_part(Text text, std::size_t, Failure&) {
    if (unique_names_) name_.append(text.data(), text.size());
    return stack_.push_chars(text), done();
  }
  bool on_key(Text text, std::size_t, Failure& failure) {
    if (unique_names_) {
      name_.append(text.data(), text.size());
      if (!names_.back().insert(name_).second) {
        twice_ = std::move(name_);
        failure = boost::json::error::syntax;
        return false;
      }
      name_.clear();
    }
    return stack_.push_key(text), done();
  }
  bool on_string_part(Text text, std::size_t, Failure&) { return stack_.push_chars(text), done(); }
  bool on_string(Text text, std::size_t, Failure&) { return stack_.push_string(text), done(); }
  bool on_number_part(Text text, Failure&) {
    number_.append(text.data(), text.size());
    return true;
  }
  bool on_int64(std::int64_t number, Text, Failure&) { return stack_.push_int64(number), done(); }
  bool on_uint64(std::uint64_t number, Text, Failure&) { return stack_.push_uint64(number), done(); }
  bool on_double(double approximate, Text text, Failure&) {
    number_.append(text.data(), text.size());
    double exact = approximate;
    const auto* last = number_.data() + number_.size();
    const auto [at, failure] = std::from_chars(number_.data(), last, exact);
    stack_.push_double(failure == std::errc{} && at == last ? exact : approximate);
    return done();
  }
  bool on_bool(bool b, Failure&) { return stack_.push_bool(b), done(); }
  bool on_null(Failure&) { return stack_.push_null(), done(); }
  bool on_comment_part(Text, Failure&) { return true; }
  bool on_comment(Text, Failure&) { return true; }

 private:
  bool done() {
    number_.clear();
    return true;
  }

  boost::json::value_stack stack_;
  std::string number_;  // the text of the number so far
  bool unique_names_;
  std::string name_;                                    // of the member that is read
  std::vector<std::unordered_set<std::string>> names_;  // of the objects that are open
  std::optional<std::string> twice_;
};

Result<value> parse_strict(std::string_view text, std::size_t depth_max, bool unique_names) {
  boost::json::parse_options options;
  options.max_depth = depth_max;
  boost::json::error_code failure;
  boost::json::basic_parser<Builder> parser(options, unique_names);
  const auto read = parser.write_some(false, text.data(), text.size(), failure);
  if (!failure && read < text.size()) failure = boost::json::error::extra_data;
  if (const auto& name = parser.handler().twice())
    return invalid_argument("\"{}\" appears twice in one object; remove one of the two",
                            name->substr(0, 200));
  if (failure) return invalid_argument("the text is not JSON: {}", failure.message());
  return parser.handler().release();
}

Result<value> parse_either(std::string_view text, std::size_t depth_max, bool unique_names) {
  auto parsed = parse_strict(text, depth_max, unique_names);
  if (parsed || text.find_first_of("NI") == std::string_view::npos) return parsed;
  return parse_strict(quote_non_finite(text), depth_max, unique_names);
}

}  // namespace

Result<value> parse(std::string_view text, std::size_t depth_max) {
  return parse_either(text, depth_max, false);
}

Result<value> parse_unambiguous(std::string_view text, std::size_t depth_max) {
  return parse_either(text, depth_max, true);
}

namespace {

// The shortest text that reads as the same double, spelled as Python's repr does: 0.5, 1e-05, 1e+16, 2.0.
void write_double(double number, std::string& out) {
  if (!std::isfinite(number)) {
    out += '"';
    out += from_double(number).get_string();
    out += '"';
    return;
  }
  const double size = std::abs(number);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char text[32];
  const auto [end, failure] = std::to_chars(text, text + sizeof text, number,
                                            plain ? std::chars_format::fixed : std::chars_format::scientific);
  const std::string_view digits(text, static_cast<std::size_t>(end - text));
  out += digits;
  if (plain && digits.find('.') == std::string_view::npos) out += ".0";
}

void write_string(std::string_view text, std::string& out) {
  const auto special = [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; };
  if (std::any_of(text.begin(), text.end(), special)) {
    out += boost::json::serialize(boost::json::string_view(text.data(), text.size()));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

/// Writes compact where `indent` is 0, else one member a line.
void write(const value& v, int indent, int depth, std::string& out) {
  const auto line = [&](int level) {
    if (indent == 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(level * indent), ' ');
  };
  if (v.is_object()) {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : v.get_object()) {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
      write_string(key, out);
      out += indent == 0 ? ":" : ": ";
      write(member, indent, depth + 1, out);
    }
    if (!first) line(depth);
    out += '}';
  } else if (v.is_array()) {
    out += '[';
    bool first = true;
    for (const auto& member : v.get_array()) {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
      write(member, indent, depth + 1, out);
    }
    if (!first) line(depth);
    out += ']';
  } else if (v.is_string()) {
    write_string(v.get_string(), out);
  } else if (v.is_double()) {
    write_double(v.get_double(), out);
  } else {
    out += boost::json::serialize(v);
  }
}

}  // namespace

std::string serialize(const value& v) {
  std::string out;
  write(v, 0, 0, out);
  return out;
}

std::string pretty(const value& v, int indent) {
  std::string out;
  write(v, indent, 0, out);
  return out;
}

std::string text_member(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
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
  if (v.is_uint64() && std::in_range<std::int64_t>(v.get_uint64()))
    return static_cast<std::int64_t>(v.get_uint64());
  if (v.is_double()) {
    const double number = v.get_double();
    if (number == std::floor(number) && std::abs(number) < 9007199254740992.0)
      return static_cast<std::int64_t>(number);
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
