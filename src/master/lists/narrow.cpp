#include "det/master/lists/narrow.h"

#include <cmath>

#include "det/base/text.h"
#include "det/master/objects.h"

namespace det::master {
namespace {

/// The states of "state = …" or of several of them joined by "or"; empty: it is something else.
std::vector<std::string> states_in(const Condition& condition) {
  std::vector<std::string> names;
  const auto add = [&](const Condition& one) {
    const bool is = one.join == Condition::Join::None && one.column == "state" && one.comparison == "=" &&
                    one.value.is_string();
    if (is) {
      std::string name(one.value.get_string());
      for (auto& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      names.push_back("STATE_" + name);
    }
    return is;
  };
  if (condition.join == Condition::Join::None) {
    add(condition);
  } else if (condition.join == Condition::Join::Or) {
    for (const auto& child : condition.children) {
      auto inner = child.join == Condition::Join::Or ? states_in(child) : std::vector<std::string>();
      if (inner.empty() && !add(child)) return {};
      names.insert(names.end(), inner.begin(), inner.end());
    }
  }
  return names;
}

void narrow_by_id(const Condition& condition, store::ExperimentQuery& query) {
  const auto number = json::to_double(condition.value);
  constexpr double kMost = 1e15;
  if (!number || std::fabs(*number) > kMost) return;
  const ExperimentId below{static_cast<std::int64_t>(std::floor(*number))};
  const ExperimentId above{static_cast<std::int64_t>(std::ceil(*number))};
  const auto& c = condition.comparison;
  if (c == "=" || c == ">=" || c == ">") query.min_id = std::max(query.min_id.value_or(above), above);
  if (c == "=" || c == "<=" || c == "<") query.max_id = std::min(query.max_id.value_or(below), below);
}

void narrow_by(Services& s, const Condition& condition, store::ExperimentQuery& query) {
  if (!condition.value.is_string()) return;
  const std::string text(condition.value.get_string());
  if (condition.column == "user" && condition.comparison == "=" && query.owners.empty()) {
    for (const auto& [id, user] : s.auth.users())
      if (to_lower(user.username) == to_lower(text)) query.owners.push_back(id);
    if (query.owners.empty()) query.owners.push_back(UserId{-1});
  }
  if (condition.column == "tags" && condition.comparison == "contains") query.labels.push_back(text);
  if (condition.column == "name" && condition.comparison == "contains" && query.name.empty())
    query.name = text;
}

void narrow(Services& s, const Condition& condition, bool runs, store::ExperimentQuery& query) {
  if (const auto names = states_in(condition); !names.empty()) {
    const auto states = parse_states(names);
    if (!runs && query.states.empty() && states) query.states = *states;
    return;
  }
  if (condition.join == Condition::Join::And)
    for (const auto& child : condition.children) narrow(s, child, runs, query);
  if (condition.join != Condition::Join::None) return;
  if (condition.column == "id" && !runs)
    narrow_by_id(condition, query);
  else
    narrow_by(s, condition, query);
}

}  // namespace

store::ExperimentQuery narrowed(Services& s, const Condition& root, bool runs) {
  store::ExperimentQuery query;
  narrow(s, root, runs, query);
  return query;
}

}  // namespace det::master
