#pragma once

#include <string>
#include <string_view>

#include "det/api/objects.h"
#include "det/experiment/records.h"

namespace det::master {

/// The line as the API sends it. `log` and `message` end in a newline; bytes that are not
/// UTF-8 are shown as U+FFFD (the store keeps them as they were written).
api::LogLine to_api(const experiment::LogRecord& record, std::optional<TrialId> trial);

/// Whether that is one of the levels that a line may have: INFO, …, without LOG_LEVEL_ before it.
bool is_log_level(std::string_view word);

}  // namespace det::master
