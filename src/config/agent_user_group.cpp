#include "det/config/agent_user_group.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace det::config {
namespace {

void check_half(std::string_view what, std::string_view id_name, const std::optional<std::int32_t>& id,
                const std::optional<std::string>& name, bool whole, std::vector<std::string>& problems) {
  if (id.has_value() != name.has_value())
    problems.push_back(fmt::format("{} and agent_{} must be given together", id_name, what));
  else if (whole && !id)
    problems.push_back(fmt::format("{} and agent_{} are required", id_name, what));
  if (id && *id < 0) problems.push_back(fmt::format("{} is {}; it must be at least 0", id_name, *id));
  if (name && name->empty()) problems.push_back(fmt::format("agent_{} must not be empty", what));
}

}  // namespace

std::optional<Error> problem(const AgentUserGroup& group, bool whole) {
  std::vector<std::string> problems;
  check_half("user", "agent_uid", group.agent_uid, group.agent_user, whole, problems);
  check_half("group", "agent_gid", group.agent_gid, group.agent_group, whole, problems);
  if (problems.empty()) return std::nullopt;
  return Error(ErrorCode::InvalidArgument, fmt::format("{}", fmt::join(problems, "; ")));
}

std::optional<AgentUserGroup> effective(const std::optional<AgentUserGroup>& workspace,
                                        const std::optional<AgentUserGroup>& owner) {
  auto account = workspace.value_or(AgentUserGroup{});
  if (owner && !account.agent_uid) {
    account.agent_uid = owner->agent_uid;
    account.agent_user = owner->agent_user;
  }
  if (owner && !account.agent_gid) {
    account.agent_gid = owner->agent_gid;
    account.agent_group = owner->agent_group;
  }
  if (!account.agent_uid && !account.agent_gid) return std::nullopt;
  return account;
}

}  // namespace det::config
