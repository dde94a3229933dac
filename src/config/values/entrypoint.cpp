#include "det/config/values/entrypoint.h"

namespace det::config {

bool is_cxx_entrypoint(std::string_view entrypoint) {
  const auto colon = entrypoint.find(':');
  if (colon == std::string_view::npos || entrypoint.find_first_of(" \t\n") != std::string_view::npos)
    return false;
  const auto file = entrypoint.substr(0, colon);
  return file.ends_with(".cpp") || file.ends_with(".cc") || file.ends_with(".cxx") ||
         file == "CMakeLists.txt";
}

}  // namespace det::config
