#include "det/config/schema/layer.h"

#include <utility>

#include "det/config/rules/check.h"
#include "det/config/yaml/yaml.h"

namespace det::config {

Layer read_layer(std::string_view name, std::string_view yaml, Report& all) {
  Layer layer{name, {}, true};
  const Document nothing;
  Report report({{name, &nothing}});
  auto decoded = decode_yaml(yaml);
  for (auto& problem : decoded.problems) {
    layer.refused.push_back(problem.path);
    report.add(0, std::move(problem));
  }
  layer.usable = decoded.document.has_value();
  if (layer.usable) {
    layer.document = *std::move(decoded.document);
    if (layer.document.value.is_null()) layer.document.value.emplace_object();
    if (!layer.document.value.is_object()) {
      report.add({}, "the document must be a map of fields such as \"searcher:\"");
      layer.usable = false;
    }
  }
  if (!layer.usable) layer.document = Document{json::object{}, {}};
  all.absorb(report);
  return layer;
}

void check(const schema::Type& type, const Layer& layer, const json::value& below, Report& all) {
  Report report({{layer.name, &layer.document}});
  check_layer(type, layer.document.value, below, report);
  all.absorb(report);
}

namespace {

/// Removes what `all` has and `own` does not, with its lines, and says so.
void leave_out(const schema::Type& own, const schema::Type& all, json::value& value, Lines& lines,
               const Path& path, Layer& layer) {
  auto* members = value.if_object();
  if (members == nullptr) return;
  json::object kept;
  std::vector<Lines> kept_lines;
  std::size_t index = 0;
  for (auto& [name, member] : *members) {
    auto of_member = index < lines.children.size() ? lines.children[index] : Lines{};
    ++index;
    const auto* known = schema::find_field(all.fields, name);
    const auto* mine = schema::find_field(own.fields, name);
    if (known != nullptr && mine == nullptr) {
      layer.warnings.push_back(fmt::format("{}.{} (line {}) is left out: it is for workloads of other kinds",
                                           layer.name, to_text(path / std::string_view(name)),
                                           of_member.line));
      continue;
    }
    if (known != nullptr && known->type.kind == schema::Kind::Section &&
        mine->type.kind == schema::Kind::Section)
      leave_out(mine->type, known->type, member, of_member, path / std::string_view(name), layer);
    kept.emplace(name, std::move(member));
    kept_lines.push_back(std::move(of_member));
  }
  value = std::move(kept);
  lines.children = std::move(kept_lines);
}

}  // namespace

Layer read_template(std::string_view name, const std::optional<std::string>& yaml, const schema::Type& type,
                    Report& all) {
  if (!yaml) return {name, {json::object{}, {}}, true};
  auto layer = read_layer(name, *yaml, all);
  leave_out(type, schema::any_workload(), layer.document.value, layer.document.lines, {}, layer);
  return layer;
}

std::vector<Error> check_template(std::string_view yaml, const json::object& master) {
  const auto problems_as = [&](const schema::Type& type, const json::value& below) {
    const Document nothing;
    Report all({{"<template>", &nothing}});
    const auto layer = read_layer("<template>", yaml, all);
    if (layer.usable) check(type, layer, below, all);
    return all.errors();
  };
  auto problems = problems_as(schema::any_workload(), master);
  for (const auto* kind : schema::kTaskKinds)
    if (problems.empty() || problems_as(schema::task(kind), json::object{}).empty()) return {};
  return problems;
}

}  // namespace det::config
