#include "det/cli/commands/agent_user_group.h"

namespace det::cli {

void AgentUserGroupFlags::add_to(CLI::App& app, bool required) {
  app.add_option("--agent-uid", uid, "User ID on the agents that tasks run as")
      ->type_name("UID")
      ->required(required);
  app.add_option("--agent-user", user, "Name of that user")->type_name("USER")->required(required);
  app.add_option("--agent-gid", gid, "Group ID on the agents that tasks run as")
      ->type_name("GID")
      ->required(required);
  app.add_option("--agent-group", group, "Name of that group")->type_name("GROUP")->required(required);
}

std::optional<json::object> AgentUserGroupFlags::body() const {
  json::object body;
  if (uid) body["agentUid"] = *uid;
  if (user) body["agentUser"] = *user;
  if (gid) body["agentGid"] = *gid;
  if (group) body["agentGroup"] = *group;
  if (body.empty()) return std::nullopt;
  return body;
}

}  // namespace det::cli
