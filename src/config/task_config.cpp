#include "det/config/task_config.h"

#include "det/config/defaults.h"
#include "det/config/merge.h"
#include "det/config/rules/check.h"
#include "det/config/rules/rules.h"
#include "det/config/schema/layer.h"
#include "det/config/values/duration.h"

namespace det::config {

namespace {

/// A TensorBoard that nobody looks at is soon started again.
constexpr std::int64_t kTensorboardTimeoutSeconds = 300;

/// One text alone is for the shell, as in the original.
std::vector<std::string> words_of(const json::value* entrypoint) {
  std::vector<std::string> words;
  if (entrypoint == nullptr) return words;
  if (entrypoint->is_string()) words.emplace_back(entrypoint->get_string());
  if (const auto* list = entrypoint->if_array())
    for (const auto& word : *list)
      if (word.is_string()) words.emplace_back(word.get_string());
  if (words.size() == 1 && !words[0].empty()) words.insert(words.begin(), {"/bin/sh", "-c"});
  return words;
}

std::optional<std::int64_t> seconds_of(const json::value* timeout) {
  if (timeout == nullptr) return std::nullopt;
  if (timeout->is_string()) return duration_seconds(timeout->get_string());
  return json::to_int64(*timeout);
}

void check_rules(std::string_view kind, const json::object& document, const Circumstances& circumstances,
                 Report& report) {
  if (kind == "command" || kind == "generic") {
    const auto words = words_of(find_member(document, "entrypoint"));
    if (words.empty() || words.front().empty())
      report.add(Path{} / "entrypoint", "entrypoint must be non-empty");
  }
  const auto* resources = find_member(document, "resources");
  const auto* pool = resources != nullptr && resources->is_object()
                         ? find_member(resources->get_object(), "resource_pool")
                         : nullptr;
  if (pool != nullptr && pool->is_string() && !pool->get_string().empty() && circumstances.resource_pools &&
      !circumstances.resource_pools->contains(std::string(pool->get_string())))
    report.add(Path{} / "resources" / "resource_pool",
               fmt::format("cannot find resource pool {}", shown_value(*pool)));
}

std::string kind_in_description(std::string_view kind) {
  if (kind == "generic") return "Task";
  return kind == "tensorboard"
             ? "TensorBoard"
             : std::string(1, static_cast<char>(kind.front() - 'a' + 'A')) + std::string(kind.substr(1));
}

}  // namespace

tl::expected<TaskConfig, std::vector<Error>> resolve_task(std::string_view kind, const Layers& layers,
                                                          const Circumstances& circumstances,
                                                          const Policies& policies) {
  const auto& type = schema::task(kind);
  Layer master{"<master>", {json::object{}, {}}, true};
  if (const auto* environment = layers.master.if_contains("environment"))
    master.document.value.get_object()["environment"] = *environment;
  Report all({{"<config>", &master.document}});
  Layer base = read_template("<template>", layers.template_yaml, type, all);
  Layer user = read_layer("<config>", layers.user_yaml, all);
  check(type, master, nullptr, all);
  const auto below = merge(type, base.document.value, master.document.value);
  if (base.usable) check(type, base, master.document.value, all);
  if (user.usable) check(type, user, below, all);
  if (!user.usable || !base.usable) return tl::unexpected(all.errors());

  auto whole = merge(type, user.document.value, below);
  std::vector<Source> sources = {
      {"<config>", &user.document}, {"<template>", &base.document}, {"<master>", &master.document}};
  for (const auto& policy : policies) {
    whole = merge(type, of_kind(kind, policy.fixed.value), whole);
    sources.insert(sources.begin(), {policy.whose, &policy.fixed});
  }
  const auto& merged = whole.get_object();
  auto document = with_task_defaults(type, merged);
  Report report(std::move(sources));
  check_complete(type, merged, report);
  check_rules(kind, document, circumstances, report);
  all.absorb(report);
  if (!all.empty()) return tl::unexpected(all.errors());

  TaskConfig config;
  auto& description = document["description"];
  if (!description.is_string() || description.get_string().empty())
    description = fmt::format("{} ({})", kind_in_description(kind), circumstances.pet_name);
  config.description = std::string(description.get_string());
  config.entrypoint = words_of(find_member(document, "entrypoint"));
  const auto& resources = document["resources"].get_object();
  config.slots = static_cast<int>(json::to_int64(resources.at("slots")).value_or(1));
  if (const auto* priority = find_member(resources, "priority"))
    config.priority = static_cast<int>(json::to_int64(*priority).value_or(42));
  config.resource_pool = std::string(resources.at("resource_pool").get_string());
  config.workspace = std::string(document["workspace"].get_string());
  config.idle_timeout_seconds = seconds_of(find_member(document, "idle_timeout"));
  if (kind == "tensorboard" && !config.idle_timeout_seconds)
    config.idle_timeout_seconds = kTensorboardTimeoutSeconds;
  if (const auto* directory = find_member(document, "work_dir"))
    config.work_dir = std::string(directory->get_string());
  if (const auto* pausable = find_member(document, "pausable")) config.pausable = pausable->get_bool();
  if (const auto* timeout = find_member(document, "preemption_timeout"))
    config.preemption_timeout_seconds = json::to_int64(*timeout);
  config.warnings = std::move(base.warnings);
  for (auto& sentence : mount_warnings(merged)) config.warnings.push_back(std::move(sentence));
  if (const auto* arguments = find_member(document, "tensorboard_args"))
    for (const auto& word : arguments->get_array()) config.tensorboard_args.emplace_back(word.get_string());
  config.document = std::move(document);
  return config;
}

}  // namespace det::config
