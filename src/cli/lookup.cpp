#include "det/cli/lookup.h"

#include "det/cli/format.h"

namespace det::cli {

Result<std::int64_t> user_id(Session& session, const std::string& name) {
  DET_TRY(const auto user, session.get("/api/v1/users/" + url_encode(name) + "/by-username"));
  return integer_at(user, "user.id");
}

Result<json::value> find_workspace(Session& session, const std::string& name) {
  DET_TRY(const auto found,
          session.pages("/api/v1/workspaces", {{"nameCaseSensitive", name}}, "workspaces", 500));
  for (const auto& workspace : found)
    if (text_at(workspace, "name") == name) return workspace;
  return not_found("workspace '{}' not found; 'det workspace list' shows all", name);
}

}  // namespace det::cli
