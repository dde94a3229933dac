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

std::vector<Error> check_template(std::string_view yaml, const json::object& master) {
  const auto problems_as = [&](const schema::Type& type, const json::value& below) {
    const Document nothing;
    Report all({{"<template>", &nothing}});
    const auto layer = read_layer("<template>", yaml, all);
    if (layer.usable) check(type, layer, below, all);
    return all.errors();
  };
  auto problems = problems_as(schema::experiment(), master);
  for (const auto* kind : {"command", "notebook", "shell", "tensorboard"})
    if (problems.empty() || problems_as(schema::task(kind), json::object{}).empty()) return {};
  return problems;
}

}  // namespace det::config
