#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "det/agent/agent.h"
#include "det/agent/pilot.h"
#include "det/base/error.h"

namespace CLI {
class App;
}

namespace det::commands {

/// The options of `det agent`, and of `det up` for its agent.
class AgentFlags {
 public:
  AgentFlags();

  void add_to(CLI::App& app);

  /// After parsing.
  void finish();

  agent::AgentOptions options;

 private:
  /// Takes NAME=VALUE; returns what is wrong with it, or an empty string.
  std::string add_attribute(const std::string& text);

  std::vector<std::string> attributes_;
  bool no_isolation_ = false;
  bool no_warm_worker_ = false;
};

/// The options of an agent on a machine that an engine gives for a while.
class PilotFlags {
 public:
  void add_to(CLI::App& app);

  /// After parsing: takes the token from the environment and, for a pilot, adapts the agent's options.
  Result<void> finish(agent::AgentOptions& options);

  agent::Pilot pilot;

 private:
  std::optional<int> node_;
  std::int64_t leave_after_ = 600;  // seconds
};

}  // namespace det::commands
