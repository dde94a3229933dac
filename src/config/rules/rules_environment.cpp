#include <array>
#include <optional>
#include <set>

#include "det/base/text.h"
#include "det/config/rules/check.h"
#include "det/config/rules/rules.h"
#include "det/config/schema/schema.h"

namespace det::config {

namespace {

// The components of an absolute path after "." and ".."; ".." of the root is the root.
std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> parts;
  for (auto& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(std::move(part));
    else if (!parts.empty())
      parts.pop_back();
  }
  return parts;
}

// Whole components are compared: /data-secret is not inside /data.
bool is_inside(std::string_view path, std::string_view directory) {
  const auto outer = components(directory);
  const auto inner =
      components(path.starts_with('/') ? std::string(path) : fmt::format("{}/{}", directory, path));
  return inner.size() >= outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

// Keys of pod specs in the spelling of Kubernetes and in that of older configurations.
struct Forbidden {
  std::array<std::string_view, 2> keys;
  std::string_view shown;
};

constexpr std::array<Forbidden, 14> kContainerKeys = {{
    {{"image", "image"}, "Image"},
    {{"command", "command"}, "Command"},
    {{"args", "args"}, "Args"},
    {{"workingDir", "working_dir"}, "Working Dir"},
    {{"ports", "ports"}, "Ports"},
    {{"livenessProbe", "liveness_probe"}, "Liveness Probe"},
    {{"readinessProbe", "readiness_probe"}, "Readiness Probe"},
    {{"startupProbe", "startup_probe"}, "Startup Probe"},
    {{"lifecycle", "lifecycle"}, "Lifecycle"},
    {{"terminationMessagePath", "termination_message_path"}, "Termination Message Path"},
    {{"terminationMessagePolicy", "termination_message_policy"}, "Termination Message Policy"},
    {{"imagePullPolicy", "image_pull_policy"}, "Image Pull Policy"},
    {{"securityContext", "security_context"}, "Security Context"},
    {{"workingDirectory", "working_directory"}, "Working Dir"},
}};

constexpr std::array<Forbidden, 2> kPodKeys = {
    {{{"name", "name"}, "Name"}, {{"namespace", "name_space"}, "Name Space"}}};

template <std::size_t N>
void refuse(const Subject& subject, const json::object& object, const Path& path,
            const std::array<Forbidden, N>& keys, std::string_view owner) {
  for (const auto& forbidden : keys)
    for (const auto key : std::set<std::string_view>{forbidden.keys[0], forbidden.keys[1]})
      if (find_member(object, key) != nullptr)
        subject.report.add(path / key,
                           fmt::format("{} {} is not configurable, set it in the experiment config", owner,
                                       forbidden.shown));
}

void check_pod_spec(const Subject& subject) {
  const auto* pod = subject.section({"environment", "pod_spec"});
  if (pod == nullptr) return;
  const auto path = Path{} / "environment" / "pod_spec";
  refuse(subject, *pod, path, kPodKeys, "pod");
  if (const auto* metadata = subject.section({"environment", "pod_spec", "metadata"}))
    refuse(subject, *metadata, path / "metadata", kPodKeys, "pod");
  const auto* containers = subject.find({"environment", "pod_spec", "spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return;
  std::size_t i = 0;
  for (const auto& container : containers->get_array()) {
    const auto at = path / "spec" / "containers" / i++;
    const auto* object = container.if_object();
    const auto* name = object != nullptr ? find_member(*object, "name") : nullptr;
    if (name != nullptr && *name == "determined-container")
      refuse(subject, *object, at, kContainerKeys, "container");
  }
}

/// Those that somebody gave a pattern, and so can be disabled by their name.
std::set<std::string> known_policies(const Subject& subject) {
  std::set<std::string> names = {"CUDA OOM", "ECC Error"};
  for (const auto& source : subject.sources) {
    const auto* document = source.document->value.if_object();
    const auto* policies = document != nullptr ? find_member(*document, "log_policies") : nullptr;
    if (policies == nullptr || !policies->is_array()) continue;
    for (const auto& policy : policies->get_array())
      if (const auto* object = policy.if_object(); object != nullptr && find_member(*object, "pattern"))
        names.insert(json::text_member(*object, "name"));
  }
  return names;
}

void check_log_policies(const Subject& subject) {
  const auto* policies = find_member(subject.merged, "log_policies");
  if (policies == nullptr || !policies->is_array()) return;
  const auto known = known_policies(subject);
  std::set<std::string> names;
  std::size_t i = 0;
  for (const auto& policy : policies->get_array()) {
    const auto path = Path{} / "log_policies" / i++;
    const auto* object = policy.if_object();
    if (object == nullptr) continue;
    const auto name = json::text_member(*object, "name");
    const bool has_pattern = find_member(*object, "pattern") != nullptr;
    const auto* action = find_member(*object, "action");
    const bool legacy = name.empty() && has_pattern && action != nullptr && action->is_object();
    const bool disables = !name.empty() && !has_pattern && known.contains(name);
    if (!legacy && !disables && (name.empty() || !has_pattern))
      subject.report.add(path,
                         "\"name\" must be set, and \"pattern\" is also required unless you intend to "
                         "disable an existing policy");
    if (!name.empty() && !names.insert(name).second)
      subject.report.add(path / "name",
                         fmt::format("log_policies have duplicated names \"{}\"", shown(name)));
  }
}

void check_variables(const Subject& subject, const json::value& list, const Path& path) {
  if (!list.is_array()) return;
  std::size_t i = 0;
  for (const auto& entry : list.get_array()) {
    const auto at = path / i++;
    if (!entry.is_string()) continue;
    const std::string_view text = entry.get_string();
    const auto name = text.substr(0, text.find('='));
    if (name.empty())
      subject.report.add(at, fmt::format("\"{}\" has no name before \"=\": write NAME=VALUE", shown(text)));
    if (name.starts_with("DET_"))
      subject.warnings.push_back(
          fmt::format("environment_variables: {} is ignored: names that begin with DET_ are reserved for the "
                      "platform",
                      shown(name)));
  }
}

}  // namespace

void check_storage(const Subject& subject) {
  const auto path = Path{} / "checkpoint_storage";
  const auto type = subject.text({"checkpoint_storage", "type"});
  if (type == "shared_fs") {
    const auto host_path = subject.text({"checkpoint_storage", "host_path"});
    if (host_path.starts_with('/')) {
      for (const auto* name : {"storage_path", "checkpoint_path", "tensorboard_path"}) {
        const auto inner = subject.text({"checkpoint_storage", name});
        if (!inner.empty() && !is_inside(inner, host_path))
          subject.report.add(path / name,
                             fmt::format("{} must either be a relative directory or a subdirectory of "
                                         "host_path: \"{}\" is not inside \"{}\"",
                                         name, shown(inner), shown(host_path)));
      }
    }
  }
  if (type == "azure") {
    const bool connection = subject.find({"checkpoint_storage", "connection_string"}) != nullptr;
    const bool account = subject.find({"checkpoint_storage", "account_url"}) != nullptr;
    const bool credential = subject.find({"checkpoint_storage", "credential"}) != nullptr;
    if (connection == account)
      subject.report.add(path, "Exactly one of connection_string or account_url must be set");
    if (credential && connection)
      subject.report.add(path / "credential", "credential and connection_string must not both be set");
  }
}

// Later releases ignored the section.
void check_data_layer(const Subject& subject) {
  const auto* given = find_member(subject.merged, "data_layer");
  if (given == nullptr || subject.generation != Generation::Steps) return;
  static const auto kAround = schema::section({schema::field("data_layer", schema::data_layer(), "")});
  json::object document{{"data_layer", *given}};
  auto* layer = document["data_layer"].if_object();
  if (layer != nullptr && find_member(*layer, "type") == nullptr) (*layer)["type"] = "shared_fs";
  check_layer(kAround, document, nullptr, subject.report);
  check_complete(kAround, document, subject.report);
  if (layer == nullptr) return;
  constexpr std::array<std::array<const char*, 2>, 2> kPairs = {
      {{"host_storage_path", "container_storage_path"},
       {"local_cache_host_path", "local_cache_container_path"}}};
  for (const auto& [host, container] : kPairs) {
    const bool has_host = find_member(*layer, host) != nullptr;
    if (has_host == (find_member(*layer, container) != nullptr)) continue;
    subject.report.add(
        Path{} / "data_layer" / (has_host ? host : container),
        fmt::format("{} and {} must be set together in a configuration that counts in steps: {} is missing",
                    host, container, has_host ? container : host));
  }
}

void check_environment(const Subject& subject) {
  check_pod_spec(subject);
  check_log_policies(subject);
  const auto path = Path{} / "environment" / "environment_variables";
  const auto* variables = subject.find({"environment", "environment_variables"});
  if (variables == nullptr) return;
  check_variables(subject, *variables, path);
  if (const auto* devices = variables->if_object())
    for (const auto& [device, list] : *devices)
      check_variables(subject, list, path / std::string_view(device));
}

}  // namespace det::config
