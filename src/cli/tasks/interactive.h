#pragma once

#include <string>

#include "det/cli/command.h"
#include "det/cli/tasks/ssh.h"

/// Commands, notebooks, shells and TensorBoards: what their commands share.
namespace det::cli {

/// One of the four: its words on the command line, in paths and in sentences.
struct TaskKind {
  const char* word;    ///< "command"; also the member of replies
  const char* plural;  ///< "commands"; also the path
  const char* title;   ///< "TensorBoard"
};
inline constexpr TaskKind kCommandKind{"command", "commands", "Command"};
inline constexpr TaskKind kNotebookKind{"notebook", "notebooks", "Notebook"};
inline constexpr TaskKind kShellKind{"shell", "shells", "Shell"};
inline constexpr TaskKind kTensorboardKind{"tensorboard", "tensorboards", "TensorBoard"};

std::string task_path(const TaskKind& kind, const std::string& id);

/// The whole id of the task that `text` is, or begins. Asks the master where it is not whole: none or several
/// that begin so are an error.
Result<std::string> find_task_id(Session& session, const TaskKind& kind, const std::string& text);

/// Starting: `det command run`, `det notebook start`, …
Action define_command_run(CLI::App& app);
Action define_notebook_start(CLI::App& app);
Action define_shell_start(CLI::App& app);
Action define_tensorboard_start(CLI::App& app);

/// Says where a task that runs is, and shows it in a browser where there is one; waits until it is ready. A
/// shell opens in this terminal (ssh.h).
Result<int> open_task(Session& session, const TaskKind& kind, const std::string& id, bool browser,
                      const SshWish& wish = {});

}  // namespace det::cli
