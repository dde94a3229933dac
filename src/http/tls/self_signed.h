#pragma once

#include <string>
#include <vector>

#include "det/base/error.h"

namespace det::http {

/// Both in PEM form.
struct SelfSigned {
  std::string certificate, key;
};

/// Makes a certificate that is its own authority, for ten years, with a P-256 key. `names`: host names and IP
/// addresses.
Result<SelfSigned> make_self_signed(const std::vector<std::string>& names);

}  // namespace det::http
