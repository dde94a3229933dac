#pragma once

#include "det/pytorch/compile/toolchain.h"

namespace det::pytorch {

/// The headers and libraries that this process itself was made with.
Sdk own_sdk();

/// Where built model definitions are kept: $DET_CXX_CACHE (the agent's), else $XDG_CACHE_HOME or ~/.cache.
std::filesystem::path cache_directory();

}  // namespace det::pytorch
