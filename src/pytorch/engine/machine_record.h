#pragma once

#include "det/base/json.h"

namespace det::pytorch {

/// What this process finds where it runs: versions, hardware, switches, shared libraries. Recorded with each
/// trial, once for each run; has the form of Python's record (determined._environment). It names nothing that
/// changes from trial to trial, so that a thousand trials on one machine share one record. What cannot be
/// read is left out. Requires: prepare_process was called.
json::object machine_record();

}  // namespace det::pytorch
