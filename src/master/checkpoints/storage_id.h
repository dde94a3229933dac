#pragma once

#include <cstdint>
#include <optional>

#include "det/base/json.h"

namespace det::master {

/// A number of the place where the experiment's checkpoints are: the same for equal places, positive, and a
/// matter of the configuration alone. Which checkpoints are kept, and the credentials, do not count. Nothing
/// for an experiment without a checkpoint storage.
std::optional<std::int32_t> storage_id(const json::object& experiment_config);

}  // namespace det::master
