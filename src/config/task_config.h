#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "det/config/policy.h"

namespace det::config {

/// What the platform reads of the configuration of a task that is no trial, typed.
struct TaskConfig {
  std::string description;
  std::vector<std::string> entrypoint;  ///< of a command or generic task: a program and its arguments
  int slots = 1;
  std::optional<int> priority;
  std::string resource_pool;  ///< empty: the default one
  std::string workspace;      ///< empty: none is named
  std::optional<std::int64_t> idle_timeout_seconds;
  std::vector<std::string> tensorboard_args;
  std::string work_dir;  ///< empty: the directory of its files
  bool pausable = true;
  std::optional<std::int64_t> preemption_timeout_seconds;
  std::vector<std::string> warnings;  ///< what of it has no effect
  json::object document;              ///< complete, with defaults, as the API returns it
};

/// Parses, checks, merges and defaults, as `resolve` does for experiments. `kind` is "command", "shell",
/// "notebook", "tensorboard" or "generic"; of the layer of the master only what such a task has is used.
tl::expected<TaskConfig, std::vector<Error>> resolve_task(std::string_view kind, const Layers& layers,
                                                          const Circumstances& circumstances,
                                                          const Policies& policies = {});

}  // namespace det::config
