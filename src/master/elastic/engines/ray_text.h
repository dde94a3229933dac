#pragma once

#include <string>
#include <vector>

#include "det/base/json.h"
#include "det/master/elastic/provider.h"

/// What the helper in Ray's Python (programs/ray_helper.py) is told, and what it says. Pure.
namespace det::master {

/// What each node must have, in Ray's words: {"GPU": 4}.
json::object ray_bundle(const ProviderSettings& settings);
json::object ray_submission(const ProviderSettings& settings, const PilotSettings& pilot,
                            const EngineRequest& request, std::string_view keeper);
/// Of its answer to "list".
Result<std::vector<EngineJob>> read_ray_jobs(const json::object& answer, std::int64_t time_limit);
/// Its answer as JSON, or the error that it tells of.
Result<json::object> read_ray_answer(const std::string& line);

}  // namespace det::master
