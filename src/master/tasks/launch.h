#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "det/config/task_config.h"
#include "det/master/services.h"
#include "det/master/workspaces/workspaces.h"

/// What starting a task has in common for all types of tasks.
namespace det::master {

inline constexpr const char* kNeverFitsWarning = "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED";

/// The documents that a configuration is made from: `config` is an object or YAML text, and `template_name`
/// may be empty. NotFound for an unknown template, InvalidArgument for more than 1 MiB.
asio::awaitable<Result<config::Layers>> layers_of(Services& s, json::value config, std::string template_name);

/// A task's configuration, checked also against policies, and the pool that it will wait in.
struct Launch {
  config::TaskConfig config;
  std::string pool;
};
/// `kind` as in config::resolve_task. All problems of the configuration are named at once.
Result<Launch> plan_launch(Services& s, std::string_view kind, const WorkspaceRecord& workspace,
                           const config::Layers& layers);

/// A new task of that type, without its command and files.
task::TaskRecord record_of(Services& s, const Launch& launch, task::Type type, UserId owner,
                           const WorkspaceRecord& workspace);

/// Why the pool as it is now could never run it.
std::optional<std::string> never_fits(Services& s, const task::TaskRecord& record);

}  // namespace det::master
