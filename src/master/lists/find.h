#pragma once

#include <any>
#include <optional>
#include <string>
#include <vector>

#include "det/master/services.h"

namespace det::master {

/// The runs that the caller sees and that match a filter as browser pages write it (see filter.h), the newest
/// experiment's first; at most `limit`. `project`: none for all.
asio::awaitable<Result<std::vector<TrialId>>> find_run_ids(Services& s, std::any principal,
                                                           std::optional<std::int64_t> project,
                                                           std::string filter, std::int32_t limit);

}  // namespace det::master
