#include "det/access/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace det::access {
namespace {

bool owns(const Caller& caller, const Object& object) {
  return std::find(object.owners.begin(), object.owners.end(), caller.user) != object.owners.end();
}

bool granted(const Caller& caller, Permission permission, std::optional<std::int64_t> workspace) {
  if (caller.is_task && is_administrative(permission)) return false;
  return std::any_of(caller.grants.begin(), caller.grants.end(), [&](const Grant& grant) {
    const auto* role = find_role(grant.role);
    if (role == nullptr || !role->permissions.contains(permission)) return false;
    return !grant.workspace || (!info(permission).cluster_only && grant.workspace == workspace);
  });
}

std::string who(const Caller& caller) {
  return fmt::format("{}user '{}'", caller.is_task ? "a task of " : "", caller.name);
}

std::string refusal(const Caller& caller, Permission permission, const Object& object) {
  return fmt::format("{} cannot {} {}", who(caller), info(permission).verb, object.what);
}

/// "Editor, WorkspaceAdmin or ClusterAdmin".
std::string roles_with(Permission permission) {
  std::vector<std::string_view> names;
  for (const auto& role : roles())
    if (role.permissions.contains(permission)) names.push_back(role.name);
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  const auto last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

Decision decide_basic(const Caller& caller, Permission permission, const Object& object) {
  const auto basic = info(permission).basic;
  if (caller.admin && !caller.is_task) return {Answer::Yes, ""};
  if (basic == Basic::Anyone) return {Answer::Yes, ""};
  if (basic == Basic::Owner && !object.owners.empty()) {
    if (owns(caller, object)) return {Answer::Yes, ""};
    return {Answer::No, fmt::format("{}: it belongs to {}; only its owner and administrators can",
                                    refusal(caller, permission, object),
                                    object.owner_name.empty() ? std::string("another user")
                                                              : fmt::format("user '{}'", object.owner_name))};
  }
  return {Answer::No,
          caller.is_task
              ? fmt::format("{}: a task never acts as an administrator; log in as a user",
                            refusal(caller, permission, object))
              : fmt::format("{}: the user is not an administrator", refusal(caller, permission, object))};
}

Decision decide_by_roles(const Caller& caller, Permission asked, const Object& object) {
  const auto permission = owns(caller, object) ? asked : for_things_of_others(asked);
  if (granted(caller, permission, object.workspace)) return {Answer::Yes, ""};
  if (object.workspace && !granted(caller, to_see(permission), object.workspace)) return {Answer::Hidden, ""};
  if (caller.is_task && is_administrative(permission))
    return {Answer::No, fmt::format("{}: a task never acts as an administrator; log in as a user",
                                    refusal(caller, permission, object))};
  const auto place = object.workspace && !info(permission).cluster_only
                         ? fmt::format("in workspace '{}' or for the whole cluster", object.workspace_name)
                         : std::string("for the whole cluster");
  return {Answer::No, fmt::format("{}: that requires the role {} {}", refusal(caller, permission, object),
                                  roles_with(permission), place)};
}

}  // namespace

Decision decide(Mode mode, const Caller& caller, Permission permission, const Object& object) {
  return mode == Mode::Basic ? decide_basic(caller, permission, object)
                             : decide_by_roles(caller, permission, object);
}

bool always(Mode mode, const Caller& caller, Permission permission) {
  if (mode == Mode::Basic)
    return info(permission).basic == Basic::Anyone || (caller.admin && !caller.is_task);
  return granted(caller, for_things_of_others(permission), std::nullopt);
}

std::optional<std::set<std::int64_t>> where(Mode mode, const Caller& caller, Permission permission) {
  if (always(mode, caller, permission)) return std::nullopt;
  std::set<std::int64_t> workspaces;
  if (mode == Mode::Basic) return workspaces;
  for (const auto& grant : caller.grants)
    if (grant.workspace && granted(caller, permission, grant.workspace)) workspaces.insert(*grant.workspace);
  return workspaces;
}

bool is_administrator(Mode mode, const Caller& caller) {
  if (caller.is_task) return false;
  if (mode == Mode::Basic) return caller.admin;
  return std::any_of(caller.grants.begin(), caller.grants.end(),
                     [](const Grant& grant) { return grant.role == kClusterAdmin && !grant.workspace; });
}

}  // namespace det::access
