#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/store/log_retention.h"

namespace det::master {

/// How long logs are kept after the end, and how often the master deletes the expired ones.
struct LogRetention {
  int days = -1;  ///< where nobody said otherwise; -1: as long as their experiment
  std::int64_t every_seconds = 24 * 3600;
};

/// Takes `retention_policy` out of the master's configuration, and leaves the rest:
///
///     retention_policy:
///       log_retention_days: 90   # -1: as long as the experiment is there
///       schedule: 24h            # how often they are deleted
///
/// InvalidArgument names what is not known or wrong.
Result<LogRetention> take_log_retention(json::object& configuration);

/// Which of the logs have expired. Pure.
std::vector<std::string> expired_logs(const std::vector<store::EndedLog>& logs, int default_days, Time now);

/// Days that are left of `days` after `ended`, rounded up; -1: for ever. Nothing has ended: all of them.
std::int32_t remaining_days(int days, std::optional<Time> ended, Time now);

}  // namespace det::master
