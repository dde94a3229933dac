#pragma once

#include <string_view>

namespace det::config {

/// Whether an entry point names a trial in C++: "file:Class" with a C++ source, or a CMakeLists.txt, as its
/// file.
bool is_cxx_entrypoint(std::string_view entrypoint);

}  // namespace det::config
