#include "det/pytorch/compile/source.h"

#include <algorithm>
#include <fstream>

namespace det::pytorch {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kKeepInMemoryBytes = 1 << 20;

}  // namespace

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Source::Source(fs::path root) : root_(fs::absolute(std::move(root))) {
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    const auto relative = entry.path().lexically_relative(root_);
    if (entry.is_directory() && !entry.is_symlink())
      directories_.push_back(relative);
    else if (!entry.is_regular_file())
      continue;
    else if (entry.file_size() <= kKeepInMemoryBytes)
      contents_[relative] = read_file(entry.path());
    else
      large_.push_back(relative);
  }
  std::ranges::sort(directories_);
}

void Source::write(const fs::path& target) const {
  if (root_.empty()) return;
  fs::create_directory(target);
  for (const auto& directory : directories_) fs::create_directory(target / directory);
  for (const auto& [name, content] : contents_) std::ofstream(target / name, std::ios::binary) << content;
  for (const auto& name : large_)
    if (fs::is_regular_file(root_ / name)) fs::copy_file(root_ / name, target / name);
}

}  // namespace det::pytorch
