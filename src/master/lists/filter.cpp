#include "det/master/lists/filter.h"

#include <algorithm>

#include "det/base/text.h"

namespace det::master {
namespace {

using Join = Condition::Join;
using Type = Condition::Type;

constexpr int kDepthMax = 32;
constexpr const char* kComparisons[] = {"=",  "!=",       "<",           "<=",      ">",
                                        ">=", "contains", "notContains", "isEmpty", "notEmpty"};

Result<Condition> parse_condition(const json::value& value, int depth) {
  if (depth > kDepthMax)
    return invalid_argument("filter is nested more than {} levels deep; simplify it", kDepthMax);
  if (!value.is_object())
    return invalid_argument("filter has {} where a group or a field is expected", json::serialize(value));
  const auto& o = value.get_object();
  Condition condition;
  if (const auto* children = o.if_contains("children"); children != nullptr && children->is_array()) {
    const auto join = json::text_member(o, "conjunction");
    if (join != "and" && join != "or")
      return invalid_argument("filter: conjunction is '{}'; it must be 'and' or 'or'", join);
    condition.join = join == "and" ? Join::And : Join::Or;
    for (const auto& child : children->get_array()) {
      DET_TRY(auto parsed, parse_condition(child, depth + 1));
      condition.children.push_back(std::move(parsed));
    }
    return condition;
  }
  condition.column = json::text_member(o, "columnName");
  condition.comparison = json::text_member(o, "operator");
  if (condition.column.empty()) return invalid_argument("filter has a field without a columnName");
  if (std::find(std::begin(kComparisons), std::end(kComparisons), condition.comparison) ==
      std::end(kComparisons))
    return invalid_argument("filter: the operator of {} is '{}'; it must be one of {}", condition.column,
                            condition.comparison, fmt::join(kComparisons, " "));
  const auto type = json::text_member(o, "type");
  if (type == "COLUMN_TYPE_NUMBER") condition.type = Type::Number;
  if (type == "COLUMN_TYPE_DATE") condition.type = Type::Date;
  if (type == "COLUMN_TYPE_ARRAY") condition.type = Type::Array;
  if (const auto* given = o.if_contains("value")) condition.value = *given;
  if (condition.column == "state") return of_state(std::move(condition));
  return condition;
}

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

bool empty(const json::value& value) {
  return value.is_null() || (value.is_string() && value.get_string().empty()) ||
         (value.is_array() && value.get_array().empty());
}

/// Pages send what was typed into a field: numbers may be texts.
std::optional<double> number_of(const json::value& value) {
  if (const auto number = json::to_double(value)) return number;
  const auto parsed =
      value.is_string() ? json::parse(value.get_string()) : Result<json::value>(json::value());
  return parsed ? json::to_double(*parsed) : std::nullopt;
}

/// Below, at or above 0 as `a` is to `b`; nothing where they cannot be compared.
std::optional<int> compare(const json::value& a, const json::value& b, Type type) {
  if (type == Type::Number) {
    const auto x = number_of(a), y = number_of(b);
    if (!x || !y) return std::nullopt;
    return *x < *y ? -1 : *x > *y ? 1 : 0;
  }
  if (type == Type::Date) {
    const auto x = parse_rfc3339(text_of(a)), y = parse_rfc3339(text_of(b));
    if (!x || !y) return std::nullopt;
    return *x < *y ? -1 : *x > *y ? 1 : 0;
  }
  const auto x = to_lower(text_of(a)), y = to_lower(text_of(b));
  return x < y ? -1 : x > y ? 1 : 0;
}

bool contains(const json::value& whole, const json::value& part) {
  if (whole.is_array()) {
    return std::ranges::any_of(whole.get_array(),
                               [&](const auto& item) { return text_of(item) == text_of(part); });
  }
  return !whole.is_null() && contains_ignoring_case(text_of(whole), text_of(part));
}

bool matches_field(const Condition& c, const json::value& value) {
  if (c.comparison == "isEmpty") return empty(value);
  if (c.comparison == "notEmpty") return !empty(value);
  if (c.value.is_null()) return true;
  if (c.comparison == "contains") return contains(value, c.value);
  if (c.comparison == "notContains") return !contains(value, c.value);
  const auto order = value.is_null() ? std::nullopt : compare(value, c.value, c.type);
  if (c.comparison == "!=") return !order || *order != 0;
  if (!order) return false;
  if (c.comparison == "=") return *order == 0;
  if (c.comparison == "<") return *order < 0;
  if (c.comparison == "<=") return *order <= 0;
  return c.comparison == ">" ? *order > 0 : *order >= 0;
}

}  // namespace

/// States without their prefix; ACTIVE is said of all that is not paused and does not end, whatever it is
/// doing.
Condition of_state(Condition condition) {
  if (!condition.value.is_string()) return condition;
  std::string name(condition.value.get_string());
  if (name.starts_with("STATE_")) name.erase(0, std::string_view("STATE_").size());
  condition.value = boost::json::string(name);
  condition.type = Type::Text;
  const bool equal = condition.comparison == "=";
  if (to_lower(name) != "active" || (!equal && condition.comparison != "!=")) return condition;
  Condition any{.join = equal ? Join::Or : Join::And};
  for (const auto* doing : {"ACTIVE", "QUEUED", "PULLING", "STARTING", "RUNNING"}) {
    any.children.push_back(condition);
    any.children.back().value = doing;
  }
  return any;
}

Result<Filter> parse_filter(const std::string& text) {
  Filter filter;
  if (text.empty()) return filter;
  DET_TRY(const auto document, json::parse(text));
  if (!document.is_object()) return invalid_argument("filter is not a JSON object");
  const auto& o = document.get_object();
  if (const auto* group = o.if_contains("filterGroup"); group != nullptr && !group->is_null()) {
    DET_TRY(filter.root, parse_condition(*group, 0));
  }
  if (const auto* archived = o.if_contains("showArchived"); archived != nullptr && archived->is_bool())
    filter.show_archived = archived->get_bool();
  return filter;
}

bool Condition::any_column(const std::function<bool(const std::string&)>& is) const {
  if (join == Join::None) return is(column);
  return std::ranges::any_of(children, [&](const Condition& child) { return child.any_column(is); });
}

bool matches(const Condition& condition, const Row& row) {
  const auto fits = [&](const Condition& child) { return matches(child, row); };
  if (condition.join == Join::And) return std::ranges::all_of(condition.children, fits);
  if (condition.join == Join::Or)
    return condition.children.empty() || std::ranges::any_of(condition.children, fits);
  return matches_field(condition, row(condition.column));
}

Result<std::vector<SortKey>> parse_sort(const std::string& text) {
  std::vector<SortKey> keys;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto part = text.substr(begin, end - begin);
    const auto equals = part.rfind('=');
    const auto order = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (order != "asc" && order != "desc")
      return invalid_argument("sort has '{}'; write column=asc or column=desc, separated by commas", part);
    keys.push_back({part.substr(0, equals), order == "desc"});
    begin = end + 1;
  }
  return keys;
}

bool before(const json::value& a, const json::value& b, bool descending) {
  if (a.is_null() || b.is_null()) return !a.is_null() && b.is_null();
  const bool numbers = a.is_number() && b.is_number();
  const auto order = compare(a, b, numbers ? Type::Number : Type::Text).value_or(0);
  return descending ? order > 0 : order < 0;
}

}  // namespace det::master
