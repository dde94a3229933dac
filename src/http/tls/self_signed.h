#pragma once

#include <string>
#include <vector>

#include "det/base/error.h"

namespace det::http {

/// Makes a certificate that is its own authority, for ten years, with a P-256 key that its owner alone can
/// read. `names`: host names and IP addresses.
Result<void> make_self_signed(const std::string& certificate_file, const std::string& key_file,
                              const std::vector<std::string>& names);

}  // namespace det::http
