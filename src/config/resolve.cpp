#include <utility>

#include "det/config/defaults.h"
#include "det/config/experiment_config.h"
#include "det/config/merge.h"
#include "det/config/policy.h"
#include "det/config/report.h"
#include "det/config/rules/check.h"
#include "det/config/rules/rules.h"
#include "det/config/schema/layer.h"
#include "det/config/schema/schema.h"
#include "det/config/yaml/yaml.h"

namespace det::config {

namespace {

constexpr std::string_view kConfig = "<config>";
constexpr std::string_view kTemplate = "<template>";
constexpr std::string_view kMaster = "<master>";

// Names that a document goes by: description was the name in older releases.
void name_experiment(json::object& document, Generation generation, const Circumstances& circumstances) {
  const auto unnamed = fmt::format("Experiment ({})", circumstances.pet_name);
  const auto empty = [&](const char* key) {
    const auto* found = document.if_contains(key);
    return found == nullptr || found->is_null() || (found->is_string() && found->get_string().empty());
  };
  const auto* description = document.if_contains("description");
  const bool no_description = description == nullptr || description->is_null();
  if (empty("name")) document["name"] = empty("description") ? json::value(unnamed) : document["description"];
  if (generation == Generation::Steps && no_description) document["description"] = document["name"];
}

void seed_experiment(json::object& document, const Circumstances& circumstances) {
  auto& reproducibility = document["reproducibility"].get_object();
  if (reproducibility.contains("experiment_seed")) return;
  const auto seconds = static_cast<std::uint64_t>(circumstances.now.microseconds / kSecond);
  reproducibility["experiment_seed"] = static_cast<std::int64_t>(seconds & 0xffffffffu);
}

// Of a document that cannot be read: none.
std::optional<json::object> readable(const std::string& yaml) {
  auto parsed = parse_yaml(yaml);
  if (!parsed || !(parsed->value.is_object() || parsed->value.is_null())) return std::nullopt;
  return parsed->value.is_object() ? std::move(parsed->value.get_object()) : json::object{};
}

}  // namespace

std::optional<Place> place_of(const Layers& layers) {
  const auto user = readable(layers.user_yaml);
  const auto base = readable(layers.template_yaml.value_or(""));
  if (!user || !base) return std::nullopt;
  const auto text = [&](std::string_view field) -> std::string {
    for (const auto* document : {&*user, &*base, &layers.master})
      if (const auto* found = find_member(*document, field))
        return found->is_string() ? std::string(found->get_string()) : "";
    return "";
  };
  return Place{text("workspace"), text("project")};
}

tl::expected<Resolved, std::vector<Error>> resolve(const Layers& layers, const Circumstances& circumstances) {
  return resolve(layers, circumstances, {});
}

tl::expected<Resolved, std::vector<Error>> resolve(const Layers& layers, const Circumstances& circumstances,
                                                   const Policies& policies) {
  Layer master{kMaster, {layers.master, {}}, true};
  Report all({{kConfig, &master.document}});
  Layer base = read_template(kTemplate, layers.template_yaml, schema::experiment(), all);
  Layer user = read_layer(kConfig, layers.user_yaml, all);

  check(schema::experiment(), master, nullptr, all);
  const auto below = merge(schema::experiment(), base.document.value, master.document.value);
  if (base.usable) check(schema::experiment(), base, master.document.value, all);
  if (user.usable) check(schema::experiment(), user, below, all);
  // What a document that cannot be read lacks is not known.
  if (!user.usable || !base.usable) return tl::unexpected(all.errors());

  Resolved resolved;
  auto whole = merge(schema::experiment(), user.document.value, below);
  std::vector<Source> sources = {
      {kConfig, &user.document}, {kTemplate, &base.document}, {kMaster, &master.document}};
  for (const auto& policy : policies) {
    whole = merge(schema::experiment(), policy.fixed.value, whole);
    sources.insert(sources.begin(), {policy.whose, &policy.fixed});
  }
  const auto& merged = whole.get_object();
  const auto generation = generation_of(merged);
  auto document = with_defaults(merged, generation);
  resolved.warnings = std::move(base.warnings);
  auto refused = std::move(user.refused);
  refused.insert(refused.end(), base.refused.begin(), base.refused.end());
  Report report(sources);
  check_complete(schema::experiment(), merged, report);
  check_rules({document, merged, generation, circumstances, std::move(sources), std::move(refused), report,
               resolved.warnings});
  all.absorb(report);
  if (!all.empty()) return tl::unexpected(all.errors());

  translate_steps(document, generation);
  name_experiment(document, generation, circumstances);
  seed_experiment(document, circumstances);
  auto config = from_document(document);
  if (!config) return tl::unexpected(std::vector{std::move(config).error()});
  resolved.config = *std::move(config);
  return resolved;
}

}  // namespace det::config
