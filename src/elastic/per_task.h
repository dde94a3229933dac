#pragma once

#include "det/elastic/elastic.h"

namespace det::elastic {

/// `decide` with Granularity::Task.
Decision decide_per_task(const Pool& pool, Time now);

}  // namespace det::elastic
