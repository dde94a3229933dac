#pragma once

#include "det/base/json.h"
#include "det/base/random.h"

namespace det::search {

/// A stream's state in 5 kB: {"position": 12, "words": "9a0c…"}, eight hexadecimal digits a word.
json::value random_to_json(const Random& random);
Result<Random> random_from_json(const json::value& saved);

}  // namespace det::search
