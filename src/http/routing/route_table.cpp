#include "det/http/routing/route_table.h"

#include <array>

#include "det/base/error.h"
#include "det/base/text.h"
#include "det/http/message.h"

namespace det::http {

namespace {

constexpr std::array<std::pair<Verb, std::string_view>, 5> kVerbs{{{Verb::Get, "GET"},
                                                                   {Verb::Post, "POST"},
                                                                   {Verb::Put, "PUT"},
                                                                   {Verb::Patch, "PATCH"},
                                                                   {Verb::Delete, "DELETE"}}};

std::vector<std::string> segments_of(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) return {};
  return split(path, '/');
}

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{') && segment.ends_with('}');
}
bool is_rest(std::string_view segment) {
  return is_parameter(segment) && segment.ends_with("...}");
}

std::string parameter_name(std::string_view segment) {
  segment.remove_prefix(1);
  segment.remove_suffix(segment.ends_with("...}") ? 4 : 1);
  return camel_case(segment);
}

}  // namespace

std::optional<Verb> verb_of(std::string_view method) {
  if (method == "HEAD") return Verb::Get;
  for (const auto& [verb, text] : kVerbs)
    if (text == method) return verb;
  return std::nullopt;
}

std::string_view verb_text(Verb verb) {
  for (const auto& [known, text] : kVerbs)
    if (known == verb) return text;
  return "";
}

std::vector<std::string> path_parameters(std::string_view path) {
  std::vector<std::string> names;
  for (const auto& segment : segments_of(path))
    if (is_parameter(segment)) names.push_back(parameter_name(segment));
  return names;
}

void RouteTable::insert(Verb verb, std::string_view path, std::size_t route) {
  Node* node = &root_;
  for (const auto& segment : segments_of(path)) {
    if (is_rest(segment)) {
      const bool added = node->rests.try_emplace(verb, route, path_parameters(path)).second;
      DET_ASSERT(added);
      return;
    }
    auto& next = is_parameter(segment) ? node->parameter : node->literals[segment];
    if (!next) next = std::make_unique<Node>();
    node = next.get();
  }
  const bool added = node->routes.try_emplace(verb, route, path_parameters(path)).second;
  DET_ASSERT(added);
}

// The node whose routes (or rests) have the verb, with the parameters' texts.
const RouteTable::Node* RouteTable::descend(const Node& node, const Segments& segments, std::size_t at,
                                            std::optional<Verb> verb, std::vector<std::string>& values,
                                            bool& rest) const {
  if (at == segments.size() && verb && node.routes.contains(*verb)) return &node;
  if (at < segments.size()) {
    if (const auto literal = node.literals.find(segments[at]); literal != node.literals.end())
      if (const auto* found = descend(*literal->second, segments, at + 1, verb, values, rest)) return found;
    if (node.parameter && !segments[at].empty()) {
      values.push_back(segments[at]);
      if (const auto* found = descend(*node.parameter, segments, at + 1, verb, values, rest)) return found;
      values.pop_back();
    }
  }
  if (verb && node.rests.contains(*verb)) {
    std::string below;
    for (std::size_t i = at; i < segments.size(); ++i) below += (i == at ? "" : "/") + segments[i];
    values.push_back(std::move(below));
    rest = true;
    return &node;
  }
  return nullptr;
}

RouteTable::Lookup RouteTable::find(std::string_view method, std::string_view path) const {
  Lookup lookup;
  const auto segments = segments_of(path);
  const auto verb = verb_of(method);
  std::vector<std::string> values;
  bool rest = false;
  if (const auto* node = descend(root_, segments, 0, verb, values, rest)) {
    const auto& [route, names] = rest ? node->rests.at(*verb) : node->routes.at(*verb);
    Match match;
    match.route = route;
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto value = percent_decode(values[i]);
      if (!value) return lookup;
      match.parameters[names[i]] = *std::move(value);
    }
    lookup.match = std::move(match);
    return lookup;
  }
  for (const auto& [known, text] : kVerbs) {
    values.clear();
    rest = false;
    if (descend(root_, segments, 0, known, values, rest) != nullptr) lookup.allowed.push_back(known);
  }
  return lookup;
}

}  // namespace det::http
