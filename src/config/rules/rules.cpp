#include "det/config/rules/rules.h"

#include <algorithm>

#include "det/base/text.h"
#include "det/config/values/entrypoint.h"

namespace det::config {

const json::value* find_member(const json::object& object, std::string_view key) {
  const auto* found = object.if_contains(key);
  return found != nullptr && !found->is_null() ? found : nullptr;
}

bool Subject::is_refused(const Path& path) const {
  return std::find(refused.begin(), refused.end(), path) != refused.end();
}

const json::value* Subject::find(std::initializer_list<std::string_view> path) const {
  const auto* object = &document;
  const json::value* found = nullptr;
  for (const auto key : path) {
    if (object == nullptr) return nullptr;
    found = find_member(*object, key);
    object = found != nullptr ? found->if_object() : nullptr;
  }
  return found;
}

const json::object* Subject::section(std::initializer_list<std::string_view> path) const {
  const auto* found = find(path);
  return found != nullptr ? found->if_object() : nullptr;
}

std::optional<std::int64_t> Subject::integer(std::initializer_list<std::string_view> path) const {
  const auto* found = find(path);
  return found != nullptr && found->is_number() ? json::to_int64(*found) : std::nullopt;
}

std::string_view Subject::text(std::initializer_list<std::string_view> path) const {
  const auto* found = find(path);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view{};
}

namespace {

/// "module.submodule:Outer.Inner" of Python, whose names may have letters of any script, or "any
/// file.cpp:space::Class".
bool is_trial_class(std::string_view text) {
  const auto is_name = [](std::string_view name, char separator) {
    return std::all_of(name.begin(), name.end(), [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             c == separator || static_cast<unsigned char>(c) >= 0x80;
    });
  };
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return false;
  const auto name = text.substr(colon + 1);
  if (is_cxx_entrypoint(text)) return is_name(name, ':') && name.front() != ':' && name.back() != ':';
  return is_name(text.substr(0, colon), '.') && is_name(name, '.');
}

/// "python3 -m determined.launch.horovod --autohorovod --trial module:Class": the platform starts a process
/// for each slot by itself.
bool is_trial_of_horovod(const std::vector<std::string_view>& words) {
  return words.size() >= 5 && words[0].substr(words[0].rfind('/') + 1).starts_with("python") &&
         words[1] == "-m" && words[2] == "determined.launch.horovod" &&
         words[words.size() - 2] == "--trial" && is_trial_class(words.back());
}

std::vector<std::string_view> words_of(const json::value& entrypoint) {
  std::vector<std::string_view> words;
  if (const auto* list = entrypoint.if_array()) {
    for (const auto& word : *list) words.push_back(word.is_string() ? word.get_string() : std::string_view());
    return words;
  }
  const std::string_view text = entrypoint.get_string();
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t\n", at)) != std::string_view::npos;) {
    words.push_back(text.substr(at, text.find_first_of(" \t\n", at) - at));
    at += words.back().size();
  }
  return words;
}

}  // namespace

EntrypointKind entrypoint_kind(const json::value* entrypoint) {
  if (entrypoint == nullptr || !(entrypoint->is_string() || entrypoint->is_array()))
    return EntrypointKind::Absent;
  const auto words = words_of(*entrypoint);
  if (words.empty()) return EntrypointKind::Absent;
  const bool one = entrypoint->is_string() && words.size() == 1 && is_trial_class(words[0]);
  return one || is_trial_of_horovod(words) ? EntrypointKind::TrialClass : EntrypointKind::Command;
}

namespace {

void check_entrypoint(const Subject& subject) {
  const auto* entrypoint = subject.find({"entrypoint"});
  const Path path = Path{} / "entrypoint";
  const bool steps = subject.generation == Generation::Steps;
  switch (entrypoint_kind(entrypoint)) {
    case EntrypointKind::TrialClass: return;
    case EntrypointKind::Absent:
      if (entrypoint != nullptr && !entrypoint->is_string() && !entrypoint->is_array()) return;
      if (subject.section({"internal", "native"}) != nullptr) return;
      return subject.report.add({}, path,
                                fmt::format("{}ust specify an entrypoint that references the trial class{}: "
                                            "entrypoint is a required property",
                                            steps ? "M" : "m", steps ? "." : ""));
    case EntrypointKind::Command: break;
  }
  if (!entrypoint->is_string()) return;
  const std::string_view text = entrypoint->get_string();
  const bool one_word = text.find_first_of(" \t\n") == std::string_view::npos;
  // "model_def:" or "model-def:Trial" were meant to be classes; no command looks like them.
  if (steps ||
      (one_word && text.find(':') != std::string_view::npos && text.find('/') == std::string_view::npos))
    return subject.report.add(
        path,
        fmt::format("entrypoint must be of the form \"module.submodule:ClassName\": \"{}\"", shown(text)));
  if (one_word && text.find('/') == std::string_view::npos)
    subject.warnings.push_back(
        fmt::format("entrypoint \"{}\" is run as a shell command; a trial class is written \"module:Class\"",
                    shown(text)));
}

void check_resources(const Subject& subject) {
  check_slot_range(subject);
  const auto slots = fewest_slots(subject.find({"resources", "slots_per_trial"}));
  const auto path = Path{} / "resources";
  if (subject.generation == Generation::Steps && slots == 0)
    subject.report.add(path / "slots_per_trial", "slots_per_trial must be > 0: 0 is not greater than 0");
  if (const auto most = subject.integer({"resources", "max_slots"});
      most && slots && *most >= 0 && *most < *slots && !subject.is_refused(path / "max_slots") &&
      !subject.is_refused(path / "slots_per_trial"))
    subject.report.add(
        path / "max_slots",
        fmt::format("max_slots must be >= slots_per_trial: {} is not at least {}", *most, *slots));
  const auto pool = subject.text({"resources", "resource_pool"});
  const auto& pools = subject.circumstances.resource_pools;
  if (pools && !pool.empty() && !pools->contains(std::string(pool))) {
    std::string known;
    for (const auto& name : *pools) known += (known.empty() ? "" : ", ") + name;
    subject.report.add(path / "resource_pool",
                       fmt::format("resource pool \"{}\" not found: {}", shown(pool),
                                   known.empty() ? "there are none" : "there are " + shown(known)));
  }
}

void check_periods(const Subject& subject) {
  const auto older = find_member(subject.merged, "batches_per_step");
  const auto newer = find_member(subject.merged, "scheduling_unit");
  if (older != nullptr && newer != nullptr && older->is_number() && newer->is_number() &&
      *json::to_double(*older) != *json::to_double(*newer))
    subject.report.add(
        Path{} / "batches_per_step",
        fmt::format("batches_per_step is the old name of scheduling_unit, but the two differ ({} and {}): "
                    "keep only one of them",
                    shown_value(*older), shown_value(*newer)));
  for (const auto* name : {"min_validation_period", "min_checkpoint_period"}) {
    const auto steps = subject.integer({name});
    if (!steps || *steps < 1) continue;
    if (subject.generation == Generation::Steps) {
      check_steps(subject, Path{} / name, *steps);
      continue;
    }
    subject.report.add(
        Path{} / name,
        fmt::format("invalid length: {}: a length object must have one attribute named \"batches\", "
                    "\"records\", or \"epochs\"; a plain number of steps is allowed only with "
                    "searcher.max_steps",
                    *steps));
  }
}

void check_rest(const Subject& subject) {
  const auto workspace = subject.text({"workspace"});
  if (workspace.empty() != subject.text({"project"}).empty())
    subject.report.add(Path{} / (workspace.empty() ? "project" : "workspace"),
                       "workspace and project must both be included in config if one is provided");
  if (const auto version = subject.integer({"version"}); version && *version != 0)
    subject.report.add(Path{} / "version",
                       fmt::format("invalid version: {}: the only version is 0", *version));
  const auto begin = subject.integer({"profiling", "begin_on_batch"});
  const auto end = subject.integer({"profiling", "end_after_batch"});
  if (begin && end && *begin > *end)
    subject.report.add(
        Path{} / "profiling" / "begin_on_batch",
        fmt::format("begin_on_batch must be less than end_after_batch: {} is greater than {}", *begin, *end));
  for (auto& sentence : mount_warnings(subject.merged)) subject.warnings.push_back(std::move(sentence));
  for (const auto* name : {"tensorboard_storage", "security"})
    if (find_member(subject.merged, name) != nullptr)
      subject.warnings.push_back(fmt::format("{} is ignored", name));
}

}  // namespace

// Tasks see the directories of their machine under their own names.
std::vector<std::string> mount_warnings(const json::object& merged) {
  std::vector<std::string> warnings;
  const auto* mounts = find_member(merged, "bind_mounts");
  if (mounts == nullptr || !mounts->is_array()) return warnings;
  for (const auto& mount : mounts->get_array()) {
    const auto* object = mount.if_object();
    if (object == nullptr) continue;
    const auto host = json::text_member(*object, "host_path"),
               inside = json::text_member(*object, "container_path");
    if (host != inside)
      warnings.push_back(fmt::format(
          "bind_mounts: {} is not mounted at {}, because tasks run without containers; read it at {}",
          shown(host), shown(inside), shown(host)));
  }
  return warnings;
}

void check_rules(const Subject& subject) {
  check_entrypoint(subject);
  check_resources(subject);
  check_periods(subject);
  check_rest(subject);
  check_searcher(subject);
  check_hyperparameters(subject);
  check_storage(subject);
  check_data_layer(subject);
  check_environment(subject);
}

}  // namespace det::config
