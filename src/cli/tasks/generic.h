#pragma once

#include "det/cli/command.h"

/// Generic tasks: `det task create`, `fork`, `describe`, `config`, `pause`, `unpause`.
namespace det::cli {

Action define_task_create(CLI::App& app);
Action define_task_fork(CLI::App& app);
Action define_task_describe_any(CLI::App& app);
Action define_task_config(CLI::App& app);
Action define_task_pause(CLI::App& app);
Action define_task_unpause(CLI::App& app);

}  // namespace det::cli
