#pragma once

#include "det/cli/session/session.h"

/// What the API has under a name, for commands: users name things, the API wants numbers. NotFound in words.
namespace det::cli {

Result<std::int64_t> user_id(Session& session, const std::string& name);
Result<std::int64_t> group_id(Session& session, const std::string& name);
Result<json::value> find_workspace(Session& session, const std::string& name);

}  // namespace det::cli
