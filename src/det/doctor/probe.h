#pragma once

#include "det/det/doctor/checks.h"

namespace det::commands::doctor {

/// Looks at this machine; `directory` is where `det up` would keep its state, `port` where it would listen.
/// The checkpoint storage of `config_file` is tried, unless that is empty.
Facts look(const std::string& directory, int port, const std::string& config_file);

}  // namespace det::commands::doctor
