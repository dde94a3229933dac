#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "det/agent/reconcile.h"
#include "det/api/agent.h"
#include "det/http/tls/tls.h"

namespace det::agent {

/// How `det agent` (and the agent inside `det up`) is started.
struct AgentOptions {
  std::string master_url = "http://localhost:8080";  ///< or several: URL,URL
  std::string leader_url;                            ///< The one of them that leads; empty: the first.
  /// Of an https address; the agent's tasks get the same.
  http::Trust trust = http::Trust::from_environment();
  std::string agent_id;  ///< Empty: the host name.
  std::string token;     ///< Shown to the master. Empty: read `token_file`.
  std::filesystem::path token_file;
  std::filesystem::path state_dir;  ///< All that the agent keeps; one agent a directory.
  std::optional<int> slots;         ///< That many CPU slots. Absent: the GPUs, or else one CPU slot.
  std::string resource_pool = "default";
  std::string label;  ///< the agent runs only what asks for it (resources.agent_label)
  /// What the agent has, for those that ask for it (resources.agent_attributes).
  std::map<std::string, std::string> attributes;
  std::string advertised_address;  ///< Where ranks on other machines reach this one. Empty: found out.

  std::string python = "python3";  ///< Runs Python trials.
  std::string python_path;         ///< Where the package `determined` is, if it is not installed.
  std::vector<std::string> trial_command = {"-m", "determined.exec.trial"};  ///< After `python`.
  std::string cxx_program;  ///< det-trial, which runs trials in C++. Empty: this agent runs none.
  std::vector<std::string> warm_command = {"-m", "determined.exec.warm"};  ///< After `python`.
  std::vector<std::string> warm_frameworks = {"pytorch"};                  ///< Empty: no warm workers.
  /// A trial waits for a warm worker that has been starting for less than this.
  std::chrono::milliseconds warm_patience{60'000};
  std::vector<std::string> shim_command = {"/proc/self/exe", "shim"};  ///< Followed by the directory.

  bool isolate = true;  ///< Off: tasks run without namespaces and control groups.
  OnDisconnect on_disconnect = OnDisconnect::Continue;
  std::int64_t memory_per_slot = 0;  ///< Bytes that a rank's processes may use together; 0: no limit.
  /// Processes and threads that a rank may have; 0: no limit. Absent: Machine::pids_per_slot.
  std::optional<std::int64_t> pids_per_slot;
  std::int64_t wait_milliseconds = 2000;  ///< Between two messages to the master at most.
  std::function<void()> on_connected;     ///< Called at the master's first good answer.

  /// A pilot leaves: when `leaving` holds a reason and nothing runs any more, when the master does not know
  /// it any more, or when the master has not answered for so long. What still runs is ended then.
  bool pilot = false;
  std::chrono::seconds leave_after{600};
  /// Why the machine goes soon. The owner of the options sets it.
  std::shared_ptr<std::string> leaving = std::make_shared<std::string>();
};

/// What the machine is: found out once, at the start.
struct Machine {
  std::string hostname;
  std::string user;  ///< the account that the agent runs as; empty: it has no name
  int cores = 1;
  std::vector<api::SlotReport> slots;
  std::vector<std::string> isolation;  ///< Steps that work here.
  std::int64_t pids_per_slot = 0;      ///< See default_pids_per_slot().
  std::string address;                 ///< See AgentOptions::advertised_address.
};

}  // namespace det::agent
