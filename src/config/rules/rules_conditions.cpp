// Hyperparameters that a trial has only for some values of others.

#include <algorithm>
#include <map>
#include <set>

#include "det/config/rules/leaves.h"
#include "det/config/rules/rules.h"

namespace det::config {

namespace {

struct Leaf {
  std::string_view type;
  const json::object* object;
  Path path;
};
using Leaves = std::map<std::string, Leaf>;  // by dotted name

const json::object* conditions_of(const json::object& leaf) {
  const auto* when = find_member(leaf, "when");
  return when != nullptr ? when->if_object() : nullptr;
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
  const auto type = found->second.type;
  if (type == "double" || type == "log")
    return subject.report.add(
        path, fmt::format("{} has the type {}; conditions need categorical, int or const", name, type));
  if (type == "int") return;
  const auto possible = values_of(*found->second.object);
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
      if (const auto* conditions = conditions_of(*leaf->second.object))
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
  const auto root = Path{} / "hyperparameters";
  for (const auto& [first, value] : hyperparameters)
    for_each_leaf(value, root / std::string_view(first),
                  [&](std::string_view type, const json::object& leaf, const Path& path) {
                    leaves.emplace(to_text(Path(path.begin() + 1, path.end())), Leaf{type, &leaf, path});
                  });
  const auto searcher = subject.text({"searcher", "name"});
  for (const auto& [name, leaf] : leaves) {
    const auto* conditions = conditions_of(*leaf.object);
    if (conditions == nullptr || conditions->empty()) continue;
    const auto path = leaf.path / "when";
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
