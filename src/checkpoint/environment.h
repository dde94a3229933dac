#pragma once

#include <cstdlib>
#include <string>

namespace det {

/// A variable of this process's environment; empty where it is not set.
inline std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace det
