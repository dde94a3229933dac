#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "det/base/id.h"
#include "det/base/json.h"
#include "det/base/time.h"

/// What the platform remembers of tasks that are no trials: the rows of the store, and what the API shows.
namespace det::task {

/// A generic task is a command that can be paused, and that can have children.
enum class Type { Command, Shell, Notebook, Tensorboard, Generic };
BOOST_DESCRIBE_ENUM(Type, Command, Shell, Notebook, Tensorboard, Generic)

enum class State {
  Queued,       ///< waits for its slots
  Starting,     ///< has them; its process does not run yet
  Running,      ///< its process runs
  Terminating,  ///< its process was asked to end
  Terminated,   ///< over
  Paused,       ///< has no slots and wants none
  Pausing,      ///< its process was asked to end, and the task will be paused
  Yielding,     ///< its process was asked to end, and the task will run again
};
BOOST_DESCRIBE_ENUM(State, Queued, Starting, Running, Terminating, Terminated, Paused, Pausing, Yielding)

/// Where a program of a task answers.
struct Address {
  std::string host;
  int port = 0;
  std::string secret{};  ///< what the program wants to hear, so that only the master can use it; may be empty
  int ssh_port = 0;      ///< of a shell's SSH server; 0: there is none
  std::string user{};    ///< whom a shell's SSH server lets in
  friend bool operator==(const Address&, const Address&) = default;
};
BOOST_DESCRIBE_STRUCT(Address, (), (host, port, secret, ssh_port, user))

struct TaskRecord {
  std::string id;  ///< UUID
  Type type = Type::Command;
  State state = State::Queued;
  std::string description;
  UserId owner;
  json::object config;  ///< resolved document
  /// What to run: a program and its arguments, or with `program_is_ours` the arguments of the agent's Python.
  std::vector<std::string> command;
  bool program_is_ours = false;
  std::string context;  ///< digest of the archive of the files that go with it; empty: none
  std::int64_t context_bytes = 0;
  std::string job_id;  ///< UUID
  std::string resource_pool;
  std::int64_t workspace_id = 1;
  int slots = 1;                ///< 0: any agent that is enabled
  std::optional<int> priority;  ///< 1 to 99, lower is more important; absent: the pool's
  std::optional<std::int64_t> idle_timeout_seconds;
  std::vector<ExperimentId> experiment_ids;  ///< of a TensorBoard
  std::vector<TrialId> trial_ids;
  std::string public_key{}, private_key{};  ///< of a shell: who has the private one may log in by SSH
  Time start_time;                          ///< when it was submitted
  std::optional<Time> end_time;
  std::int64_t run_id = 0;         ///< of its latest allocation
  std::optional<Address> address;  ///< once it is ready
  std::string exit_status;         ///< in words, when it is over
  std::optional<int> exit_code;    ///< of its process; 128 + signal where one ended it
  bool killed = false;             ///< somebody ended it, or will have: its exit says nothing
  // Of a generic task.
  std::vector<std::string> ancestors{};  ///< from the first of them to its parent
  std::string forked_from{};             ///< the task whose configuration and files it has
  bool no_pause = false;                 ///< it can be neither paused nor preempted
  std::string work_dir{};                ///< where its process begins; empty: where its files are
  std::optional<std::int64_t> preemption_timeout_seconds{};
};
BOOST_DESCRIBE_STRUCT(TaskRecord, (),
                      (id, type, state, description, owner, config, command, program_is_ours, context,
                       context_bytes, job_id, resource_pool, workspace_id, slots, priority,
                       idle_timeout_seconds, experiment_ids, trial_ids, public_key, private_key, start_time,
                       end_time, run_id, address, exit_status, exit_code, killed, ancestors, forked_from,
                       no_pause, work_dir, preemption_timeout_seconds))

/// In sentences: "command", "shell", "notebook", "tensorboard", "generic task".
const char* type_word(Type type);
/// For programs: the same in one word, "generic".
const char* type_name(Type type);

}  // namespace det::task
