#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/cli/session/session.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace det::cli {

/// Runs a command after its arguments were read; returns the exit code.
using Action = std::function<Result<int>(Session&)>;

/// A command, or a group of commands: the tree that users type their way down.
///
/// `det experiment list` finds the group `experiment` and in it the command
/// `list`; only that command's flags are ever built, so that the size of the
/// tree costs no start-up time.
struct Command {
  std::vector<std::string> names;  ///< The full name, then the aliases.
  std::string help;                ///< "List the trials of an experiment"; see also `action_of`.
  std::string example;             ///< Lines that a user can paste; may be empty.

  /// Adds a command's arguments and says what to do with them. Null for a group.
  Action (*define)(CLI::App&) = nullptr;

  std::vector<Command> children = {};
  std::string default_child = {};  ///< What the group does when called bare; empty: its help.
};

/// The whole tree, except the commands that `main` adds.
Command root_command();

Command experiment_commands();
Command trial_commands();
Command checkpoint_commands();
Command model_commands();
Command agent_commands();
Command slot_commands();
Command master_commands();
Command user_commands();
Command user_group_commands();
Command config_policies_commands();
Command template_commands();
Command workspace_commands();
Command token_commands();
Command rbac_commands();
Command audit_commands();
Command webhook_commands();
Command resource_pool_commands();
Command resources_commands();
Command project_commands();
Command job_commands();
Command task_commands();
Command command_commands();
Command notebook_commands();
Command shell_commands();
Command tensorboard_commands();
Command tunnel_command();
Command dev_commands();
Command preview_search_command();
Command simulate_command();
Command version_command();
Command completion_command();

/// `det workspace list-members`; it is beside the other commands about roles.
Action define_list_members(CLI::App& app);

/// Adds an option that exists in the original and cannot work here: giving it is an error that says why.
/// The help does not list it.
void add_refused(CLI::App& app, const std::string& names, const std::string& why, bool has_value);

/// The options and arguments of a command, including those in option groups.
std::vector<const CLI::Option*> options_of(const CLI::App& app);

/// The child of that name or alias, or null.
const Command* find_child(const Command& group, std::string_view name);

/// `'lst' is not a command of det experiment. Did you mean 'list'?`
std::string unknown_command(const Command& group, const std::string& path, const std::string& word);

/// For a group that the original has and `det` does not: why, and what to do instead. Otherwise empty.
std::string instead_of(std::string_view word);

/// What a command does, for "Failed to …": of "Show the logs of a trial" it is "show logs of trial".
std::string action_of(const Command& command);

/// What `det experiment --help` prints.
std::string group_help(const Command& group, const std::string& path);

}  // namespace det::cli
