#include "det/det/agent_flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "det/det/paths.h"

namespace det::commands {

std::string AgentFlags::add_attribute(const std::string& text) {
  const auto at = text.find('=');
  const auto name = text.substr(0, at);
  if (at == std::string::npos || !api::is_name(name) || !api::is_name(text.substr(at + 1)))
    return fmt::format("attribute '{}' must have the form NAME=VALUE, with letters, digits, '.', '-' and '_'",
                       text);
  options.attributes[name] = text.substr(at + 1);
  return "";
}

AgentFlags::AgentFlags() {
  options.python = default_python();
  options.python_path = default_python_path();
  options.cxx_program = default_cxx_program();
}

void AgentFlags::add_to(CLI::App& app) {
  app.add_option("--agent-id", options.agent_id, "Name of this agent (default: the host name)");
  app.add_option("--slots", options.slots, "Number of slots (default: one per GPU, or one for the CPUs)");
  app.add_option("--resource-pool", options.resource_pool, "Resource pool to join")->capture_default_str();
  app.add_option("--label", options.label,
                 "Run only experiments with this resources.agent_label (default: those without a label)");
  app.add_option("--attribute", attributes_,
                 "Attribute NAME=VALUE, matched against resources.agent_attributes; may be repeated")
      ->check([this](const std::string& text) { return add_attribute(text); });
  app.add_option("--python", options.python, "Python that runs trials")->capture_default_str();
  app.add_option("--python-path", options.python_path,
                 "Directory with the Python package determined, if it is not installed");
  app.add_option("--memory-per-slot", options.memory_per_slot,
                 "Memory limit per slot, such as 16GiB (default: no limit)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option(
      "--pids-per-slot", options.pids_per_slot,
      "Maximum number of processes and threads per slot; 0: no limit (default: 16384, or less on a "
      "small machine)");
  app.add_option("--on-disconnect", options.on_disconnect,
                 "What trials do when the lease from the master expires: continue or stop")
      ->transform(CLI::CheckedTransformer(std::map<std::string, agent::OnDisconnect>{
          {"continue", agent::OnDisconnect::Continue}, {"stop", agent::OnDisconnect::Stop}}));
  app.add_flag("--no-isolation", no_isolation_, "Run tasks without namespaces and control groups");
  app.add_flag("--no-warm-worker", no_warm_worker_, "Start every trial in a fresh process");
}

void AgentFlags::finish() {
  options.isolate = !no_isolation_;
  if (no_warm_worker_) options.warm_frameworks.clear();
}

void PilotFlags::add_to(CLI::App& app) {
  app.add_option("--pilot", pilot.allotment,
                 "Run for this allotment of a resource pool with a provider, with the token in "
                 "DET_PILOT_TOKEN, and leave when the machine goes back");
  app.add_option("--node", node_,
                 "With --pilot: the number of this machine in the allotment (default: "
                 "SLURM_NODEID, or 0)");
  app.add_option("--leave-after", leave_after_,
                 "With --pilot: leave when the master has not answered for this many seconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
}

Result<void> PilotFlags::finish(agent::AgentOptions& options) {
  if (pilot.allotment.empty()) return {};
  const char* token = std::getenv("DET_PILOT_TOKEN");
  if (token == nullptr || *token == '\0')
    return invalid_argument(
        "--pilot needs the token of the allotment in the environment variable "
        "DET_PILOT_TOKEN");
  pilot.token = token;
  ::unsetenv("DET_PILOT_TOKEN");  // not for the tasks
  const char* slurm = std::getenv("SLURM_NODEID");
  pilot.node = node_ ? *node_ : slurm == nullptr ? 0 : std::atoi(slurm);
  options.token_file.clear();
  options.pilot = true;
  options.leave_after = std::chrono::seconds(leave_after_);
  return {};
}

}  // namespace det::commands
