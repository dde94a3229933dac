// A model definition from strangers: whatever is unpacked, and wherever its links point, stays in its
// directory.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "det/agent/prepare/archive.h"

namespace fs = std::filesystem;

namespace {

/// <directory>/outside holds a file that nobody may change; <directory>/inside is unpacked into.
const fs::path& directory() {
  static const fs::path made = [] {
    auto name = (fs::temp_directory_path() / "det-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    std::atexit([] { fs::remove_all(directory()); });
    return fs::path(name);
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto archive = directory() / "archive";
  std::ofstream(archive, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto inside = directory() / "inside";
  fs::remove_all(inside);
  fs::create_directory(inside);
  det::agent::ArchiveLimits limits;
  limits.bytes_max = 4 << 20;
  limits.entries_max = 1000;
  const auto unpacked = det::agent::unpack(archive, inside, limits);
  if (!unpacked && unpacked.error().message().empty()) std::abort();
  for (const auto& entry : fs::directory_iterator(directory()))
    if (entry.path() != archive && entry.path() != inside) std::abort();
  for (const auto& entry : fs::recursive_directory_iterator(inside)) {
    if (!entry.is_symlink() && !entry.is_directory() && !entry.is_regular_file()) std::abort();
    if (!unpacked || !entry.is_symlink()) continue;
    std::error_code error;
    const auto target = fs::weakly_canonical(entry.path(), error);
    if (!error && target.lexically_relative(fs::canonical(inside)).string().starts_with("..")) std::abort();
  }
  return 0;
}
