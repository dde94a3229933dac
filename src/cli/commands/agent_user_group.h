#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "det/base/json.h"

namespace det::cli {

/// The account on the agents' machines that tasks run as, as flags give it.
struct AgentUserGroupFlags {
  std::optional<std::int32_t> uid, gid;
  std::optional<std::string> user, group;

  /// --agent-uid, --agent-user, --agent-gid and --agent-group.
  void add_to(CLI::App& app, bool required);
  /// What was given, as `agentUserGroup` of a request; nothing where no flag was.
  std::optional<json::object> body() const;
};

}  // namespace det::cli
