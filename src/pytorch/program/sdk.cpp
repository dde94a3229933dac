#include "det/pytorch/program/sdk.h"

#include <dlfcn.h>

#include <cstdlib>

#include "det/pytorch/engine/process.h"

namespace det::pytorch {

namespace fs = std::filesystem;

Sdk own_sdk() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&own_sdk), &info);  // <root>/lib/libdet_pytorch.so
  return {.root = fs::canonical(info.dli_fname).parent_path().parent_path(), .torch = torch_directory()};
}

fs::path cache_directory() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (const auto given = variable("DET_CXX_CACHE"); !given.empty()) return given;
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "determined/cxx";
  if (const auto home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache/determined/cxx";
  return fs::temp_directory_path() / "determined-cxx";
}

}  // namespace det::pytorch
