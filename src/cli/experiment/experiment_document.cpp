#include "det/cli/experiment/experiment_document.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "det/base/text.h"
#include "det/cli/output/format.h"
#include "det/config/yaml/yaml.h"

namespace det::cli {
namespace {

Result<void> apply_override(json::object& document, const std::string& option) {
  const auto equals = option.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalid_argument("Could not read configuration option '{}'. Expecting: --config <key>=<value>",
                            option);
  auto value = option.substr(equals + 1);
  const bool whole =
      value.starts_with('[') || value.starts_with('{') || value.starts_with('"') || value.starts_with('\'');
  if (!whole && value.find(',') != std::string::npos) value = "[" + value + "]";
  auto applied = config::apply_option(document, option.substr(0, equals + 1) + value);
  if (!applied)
    return invalid_argument("Could not read configuration option '{}': {}", option,
                            applied.error().message());
  return {};
}

// Whether the searcher counts in steps, as configurations of early releases do.
bool counts_steps(const json::object& document) {
  if (document.contains("batches_per_step")) return true;
  const auto& searcher = at(document, "searcher");
  for (const auto* name : {"max_steps", "target_trial_steps", "step_budget", "steps_per_round"})
    if (!at(searcher, name).is_null()) return true;
  return false;
}

Result<std::string> read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return invalid_argument("the configuration file {} is a directory; give a YAML file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found("cannot open the configuration file {}: {}", path, std::strerror(errno));
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Result<ExperimentDocument> read_experiment_document(const std::string& path,
                                                    const std::vector<std::string>& overrides) {
  ExperimentDocument result;
  if (path.empty()) {
    result.text = "{}";
  } else {
    DET_TRY(result.text, read_file(path));
  }
  const auto parsed = config::parse_yaml(result.text);
  std::string problems;
  if (!parsed)
    for (const auto& problem : parsed.error()) problems += '\n' + config::to_text("<config>", problem);
  else if (!parsed->value.is_object())
    problems = "\nit must be a map of settings, such as \"name: value\"";
  if (!problems.empty())
    return invalid_argument("Error: invalid experiment config file {}{}", path, problems);

  result.document = parsed->value.get_object();
  for (const auto& option : overrides)
    if (auto applied = apply_override(result.document, option); !applied)
      return tl::unexpected(applied.error());
  if (path.empty() || !overrides.empty()) result.text = config::emit_yaml(result.document);
  return result;
}

std::string test_mode_text(const ExperimentDocument& document, const json::value& resolved) {
  auto test = document.document;
  const bool steps = counts_steps(test);
  const auto one_batch = [] {
    json::object length;
    length["batches"] = 1;
    return length;
  };
  for (const auto* name : {"name", "description"}) {
    auto text = text_at(test, name);
    if (text.empty()) text = text_at(resolved, name);
    if (!text.empty()) test[name] = "[test-mode] " + text;
  }
  json::object searcher;
  searcher["name"] = "single";
  for (const auto* name : {"metric", "smaller_is_better"}) {
    const auto* own =
        at(test, "searcher").is_object() ? at(test, "searcher").get_object().if_contains(name) : nullptr;
    const auto& value = own != nullptr ? *own : at(at(resolved, "searcher"), name);
    if (!value.is_null()) searcher[name] = value;
  }
  if (steps)
    searcher["max_steps"] = 1;
  else
    searcher["max_length"] = one_batch();
  test["searcher"] = std::move(searcher);

  test[steps ? "batches_per_step" : "scheduling_unit"] = 1;
  test["min_validation_period"] = steps ? json::value(1) : json::value(one_batch());
  test.erase("min_checkpoint_period");
  test["max_restarts"] = 0;
  auto& storage = test["checkpoint_storage"];
  if (!storage.is_object()) storage = json::object();
  for (const auto* name : {"save_experiment_best", "save_trial_best", "save_trial_latest"})
    storage.get_object()[name] = 0;
  return config::emit_yaml(test);
}

}  // namespace det::cli
