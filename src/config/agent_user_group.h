#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "det/base/error.h"

namespace det::config {

/// The account on the agents' machines that the tasks of a user, or of a workspace, run as. A user's has all
/// four; a workspace's may have either half.
struct AgentUserGroup {
  std::optional<std::int32_t> agent_uid, agent_gid;
  std::optional<std::string> agent_user, agent_group;
  friend bool operator==(const AgentUserGroup&, const AgentUserGroup&) = default;
};
BOOST_DESCRIBE_STRUCT(AgentUserGroup, (), (agent_uid, agent_gid, agent_user, agent_group))

/// What is wrong with a group that somebody wants to set: an id below 0, a name that is empty, an id without
/// its name, and with `whole` a half that is missing.
std::optional<Error> problem(const AgentUserGroup& group, bool whole);

/// What a task runs as: the workspace's account, and where it says nothing the owner's. Nothing: as the
/// agent.
std::optional<AgentUserGroup> effective(const std::optional<AgentUserGroup>& workspace,
                                        const std::optional<AgentUserGroup>& owner);

}  // namespace det::config
