// Hyperparameters that a trial has only for some values of others.

#include <algorithm>
#include <map>
#include <set>

#include "det/config/rules/rules.h"

namespace det::config {

namespace {

using Leaves = std::map<std::string, const json::object*>;  // by dotted name

void collect(const json::value& value, const std::string& name, Leaves& leaves) {
  const auto* object = value.if_object();
  if (object == nullptr) return;
  if (const auto* type = object->if_contains("type"); type != nullptr && type->is_string()) {
    leaves.emplace(name, object);
    return;
  }
  for (const auto& [child, below] : *object)
    collect(below, fmt::format("{}.{}", name, std::string_view(child)), leaves);
}

const json::object* conditions_of(const json::object& leaf) {
  const auto* when = find_member(leaf, "when");
  return when != nullptr ? when->if_object() : nullptr;
}

Path path_of(std::string_view name) {
  Path path = Path{} / "hyperparameters";
  for (std::size_t from = 0; from <= name.size();) {
    const auto to = std::min(name.find('.', from), name.size());
    path = path / name.substr(from, to - from);
    from = to + 1;
  }
  return path;
}

json::array values_of(const json::object& leaf) {
  if (const auto* vals = find_member(leaf, "vals"); vals != nullptr && vals->is_array())
    return vals->get_array();
  const auto* constant = find_member(leaf, "val");
  return constant != nullptr ? json::array{*constant} : json::array{};
}

/// `name` is what the condition of a hyperparameter is about.
void check_condition(const Subject& subject, const Leaves& leaves, const Path& path, const std::string& name,
                     const json::value& wanted) {
  const auto found = leaves.find(name);
  if (found == leaves.end())
    return subject.report.add(
        path, fmt::format("{} is not a hyperparameter with a value; nested ones are written a.b", name));
  const auto type = json::text_member(*found->second, "type");
  if (type == "double" || type == "log")
    return subject.report.add(
        path, fmt::format("{} has the type {}; conditions need categorical, int or const", name, type));
  if (type == "int") return;
  const auto possible = values_of(*found->second);
  const auto all = wanted.is_array() ? wanted.get_array() : json::array{wanted};
  for (const auto& value : all)
    if (std::ranges::find(possible, value) == possible.end())
      subject.report.add(path, fmt::format("{} is never {}; it is one of {}", name, shown_value(value),
                                           shown_value(possible)));
}

/// The names from `name` back to itself; empty: there is no such circle.
std::vector<std::string> circle(const Leaves& leaves, const std::string& name) {
  std::vector<std::string> way;
  std::set<std::string> seen;
  const auto search = [&](const auto& self, const std::string& at) -> bool {
    way.push_back(at);
    if (way.size() > 1 && at == name) return true;
    if (const auto leaf = leaves.find(at); leaf != leaves.end() && seen.insert(at).second)
      if (const auto* conditions = conditions_of(*leaf->second))
        for (const auto& condition : *conditions)
          if (self(self, std::string(condition.key()))) return true;
    way.pop_back();
    return false;
  };
  search(search, name);
  return way;
}

}  // namespace

void check_conditions(const Subject& subject, const json::object& hyperparameters) {
  Leaves leaves;
  for (const auto& [name, value] : hyperparameters) collect(value, std::string(name), leaves);
  const auto searcher = subject.text({"searcher", "name"});
  for (const auto& [name, leaf] : leaves) {
    const auto* conditions = conditions_of(*leaf);
    if (conditions == nullptr || conditions->empty()) continue;
    const auto path = path_of(name) / "when";
    if (!decided_outside(searcher)) {
      subject.report.add(path,
                         fmt::format("conditions need searcher.name optuna or custom; it is {}", searcher));
      continue;
    }
    if (name == "global_batch_size") subject.report.add(path, "global_batch_size cannot have a condition");
    for (const auto& [other, wanted] : *conditions)
      check_condition(subject, leaves, path / std::string_view(other), std::string(other), wanted);
    if (const auto way = circle(leaves, name); !way.empty())
      subject.report.add(path, fmt::format("{} depends on itself: {}", name, fmt::join(way, ", ")));
  }
}

}  // namespace det::config
