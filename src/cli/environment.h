#pragma once

#include <string>

#include "det/cli/output/table.h"

namespace det::cli {

/// "89abcdef0123 (main, changed)"; empty where nobody knows.
std::string git_text(const json::value& git);

/// What a trial ran in, a row for each fact; a column of facts for each environment that it had, the newest
/// run's first. `answer` is that of /api/v1/trials/N/environment.
Table environment_table(const json::value& answer);

}  // namespace det::cli
