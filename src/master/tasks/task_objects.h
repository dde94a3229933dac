#pragma once

#include <optional>
#include <string>
#include <vector>

#include "det/api/objects.h"
#include "det/master/services.h"

/// Tasks that are no trials, as the API shows them.
namespace det::api {

/// Whom the SSH server of a shell lets in.
struct SshAccount {
  std::string user;
  std::optional<std::int32_t> uid, gid;  ///< where the task runs as a linked account
  std::string group;
};
BOOST_DESCRIBE_STRUCT(SshAccount, (), (user, uid, gid, group))

/// A command, notebook, shell or TensorBoard.
struct Task {
  std::string id, description, state;
  Time start_time;
  std::string display_name;
  UserId user_id;
  std::string username, resource_pool, exit_status, job_id;
  std::int32_t workspace_id = 1;
  std::optional<std::string> service_address;  ///< where the proxy serves it; of all but commands
  std::optional<std::vector<ExperimentId>> experiment_ids;  ///< of TensorBoards
  std::optional<std::vector<TrialId>> trial_ids;
  std::optional<std::string> private_key;  ///< of a shell: what its SSH server lets in; for its owner only
  std::optional<std::string> public_key;
  std::optional<SshAccount> agent_user_group;  ///< of a shell: as whom to log in
  std::string type;                            ///< ours: "command", "notebook", …
  std::int32_t slots = 0, priority = 42;       ///< ours
  bool is_ready = false;                       ///< ours: its program answers
  std::string waiting_reason;                  ///< ours: why it does not run yet
  std::optional<Time> end_time;                ///< ours
  std::optional<std::int32_t> exit_code;       ///< ours: of its process
};
BOOST_DESCRIBE_STRUCT(Task, (),
                      (id, description, state, start_time, display_name, user_id, username, resource_pool,
                       exit_status, job_id, workspace_id, service_address, experiment_ids, trial_ids,
                       private_key, public_key, agent_user_group, type, slots, priority, is_ready,
                       waiting_reason, end_time, exit_code))

}  // namespace det::api

namespace det::master {

/// The task whose run this is: "<task>.<run>". A name that is no run's: itself.
std::string task_of(const std::string& allocation_id);

/// One of the four kinds that have lists of their own: its type, and its words in paths and replies.
struct TaskKind {
  task::Type type;
  const char* word;    ///< "command"
  const char* plural;  ///< "commands"
  const char* id;      ///< "commandId"
};
inline constexpr TaskKind kTaskKinds[] = {
    {task::Type::Command, "command", "commands", "commandId"},
    {task::Type::Notebook, "notebook", "notebooks", "notebookId"},
    {task::Type::Shell, "shell", "shells", "shellId"},
    {task::Type::Tensorboard, "tensorboard", "tensorboards", "tensorboardId"}};

/// A task under the name of its kind, which is the only one that is set.
struct TaskReply {
  std::optional<api::Task> command, notebook, shell, tensorboard;
};
BOOST_DESCRIBE_STRUCT(TaskReply, (), (command, notebook, shell, tensorboard))
void put(TaskReply& reply, const TaskKind& kind, api::Task task);

api::Task to_api(Services& s, const task::TaskRecord& record);
/// Adds a shell's private key where the caller owns the shell.
void show_key(api::Task& task, const task::TaskRecord& record, const std::any& principal);

/// The newest record: the live one, else the stored one; NotFound.
asio::awaitable<Result<task::TaskRecord>> find_task(Services& s, std::string id);

/// "STATE_RUNNING" of an allocation.
std::string state_name(experiment::AllocationState state);

/// "GENERIC_TASK_STATE_PAUSED": of generic tasks only.
std::string generic_state(const task::TaskRecord& record);

/// Whether the caller may command the task and its descendants that are not over.
asio::awaitable<Result<void>> may_command_family(Services& s, std::any principal, std::string id);

/// Ends the task and its descendants for a user, whose right to end the task was asked before. What is over
/// stays as it is. `from_root`: its first ancestor and all of that one's descendants.
asio::awaitable<Result<void>> kill_task(Services& s, std::any principal, task::TaskRecord record,
                                        bool from_root = false);

}  // namespace det::master
