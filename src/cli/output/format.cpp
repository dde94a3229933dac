#include "det/cli/output/format.h"

#include <algorithm>
#include <cmath>

#include "det/base/text.h"
#include "det/base/time.h"

namespace det::cli {

std::string cell_text(const json::value& cell) {
  switch (cell.kind()) {
    case boost::json::kind::null: return "";
    case boost::json::kind::bool_: return cell.get_bool() ? "True" : "False";
    case boost::json::kind::int64: return std::to_string(cell.get_int64());
    case boost::json::kind::uint64: return std::to_string(cell.get_uint64());
    case boost::json::kind::double_: return fmt::format("{:.6g}", cell.get_double());
    case boost::json::kind::string: return std::string(cell.get_string());
    default: return json::pretty(cell, 4);
  }
}

json::value time_cell(const json::value& rfc3339) {
  if (!rfc3339.is_string() || rfc3339.get_string().empty()) return nullptr;
  const auto time = parse_rfc3339(rfc3339.get_string());
  if (!time) return rfc3339;
  auto text = to_rfc3339(*time);  // 2026-01-02T03:04:05.123456Z
  text[10] = ' ';
  return json::value(text.substr(0, 19) + "+0000");
}

json::value percent_cell(const json::value& fraction) {
  const auto number = json::to_double(fraction);
  if (!number) return nullptr;
  return json::value(fmt::format("{:.1f}%", *number * 100));
}

json::value state_cell(const json::value& state) {
  if (!state.is_string()) return state;
  std::string_view text = state.get_string();
  if (text.starts_with("STATE_")) text.remove_prefix(6);
  return json::value(text);
}

json::value size_cell(const json::value& bytes) {
  const auto number = json::to_int64(bytes);
  if (!number) return nullptr;
  return json::value(human_size(*number));
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, std::min(seconds, 1e12))));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {} m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

const json::value& at(const json::object& o, std::string_view path) {
  static const json::value null;
  const auto* members = &o;
  while (true) {
    const auto dot = path.find('.');
    const auto* found = members->if_contains(path.substr(0, dot));
    if (found == nullptr) return null;
    if (dot == std::string_view::npos) return *found;
    if (!found->is_object()) return null;
    members = &found->get_object();
    path.remove_prefix(dot + 1);
  }
}

const json::value& at(const json::value& v, std::string_view path) {
  static const json::value null;
  return v.is_object() ? at(v.get_object(), path) : null;
}

std::string text_at(const json::value& v, std::string_view path) {
  const auto& found = at(v, path);
  return found.is_string() ? std::string(found.get_string()) : std::string();
}

std::int64_t integer_at(const json::value& v, std::string_view path) {
  return json::to_int64(at(v, path)).value_or(0);
}

const json::array& list_at(const json::value& v, std::string_view path) {
  static const json::array empty;
  const auto& found = at(v, path);
  return found.is_array() ? found.get_array() : empty;
}

}  // namespace det::cli
