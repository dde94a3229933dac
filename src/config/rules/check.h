#pragma once

#include "det/config/report.h"
#include "det/config/schema/schema.h"

namespace det::config {

/// Reports every value of `layer` that is not what `type` says: kinds, ranges,
/// unknown keys. A layer may be partial; `below` is what lies under it, and says
/// which member of a union it is about where it does not say so itself.
void check_layer(const schema::Type& type, const json::value& layer, const json::value& below,
                 Report& report);

/// Reports every required field that the merged document lacks.
void check_complete(const schema::Type& type, const json::value& merged, Report& report);

}  // namespace det::config
