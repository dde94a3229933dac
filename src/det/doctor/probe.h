#pragma once

#include "det/det/doctor/checks.h"

namespace det::commands::doctor {

/// Looks at this machine; `directory` is where `det up` would keep its state, `port` where it would listen.
Facts look(const std::string& directory, int port);

}  // namespace det::commands::doctor
