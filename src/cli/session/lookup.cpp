#include "det/cli/session/lookup.h"

#include "det/cli/output/format.h"

namespace det::cli {

Result<std::int64_t> user_id(Session& session, const std::string& name) {
  DET_TRY(const auto user, session.get("/api/v1/users/" + url_encode(name) + "/by-username"));
  return integer_at(user, "user.id");
}

Result<std::int64_t> group_id(Session& session, const std::string& name) {
  DET_TRY(const auto found,
          session.post("/api/v1/groups/search", json::object{{"name", name}, {"limit", 1}}));
  for (const auto& group : list_at(found, "groups")) return integer_at(group, "group.groupId");
  return not_found("group '{}' not found; 'det user-group list' shows all groups", name);
}

Result<json::value> find_workspace(Session& session, const std::string& name) {
  DET_TRY(const auto found,
          session.pages("/api/v1/workspaces", {{"nameCaseSensitive", name}}, "workspaces", 500));
  for (const auto& workspace : found)
    if (text_at(workspace, "name") == name) return workspace;
  return not_found("workspace '{}' not found; 'det workspace list' shows all workspaces", name);
}

}  // namespace det::cli
