#pragma once

#include "det/base/error.h"
#include "det/base/json.h"

namespace det::master {

/// Takes `checkpoint_undo`, a duration such as 24h, out of the master's configuration: its seconds, or 0.
Result<std::int64_t> take_checkpoint_undo(json::object& configuration);

}  // namespace det::master
