#include "idx.h"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

/// The bytes of a gzip file after its IDX header. gzip itself decompresses: the file is the machine's own.
std::vector<unsigned char> read(const std::string& path, std::size_t header) {
  if (path.find('\'') != std::string::npos) throw std::runtime_error("no quotes, please, in " + path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(("gzip -dc '" + path + "'").c_str(), "r"),
                                                             pclose);
  std::vector<unsigned char> bytes;
  unsigned char buffer[1 << 16];
  while (const auto got = std::fread(buffer, 1, sizeof buffer, pipe.get()))
    bytes.insert(bytes.end(), buffer, buffer + got);
  if (bytes.size() <= header) throw std::runtime_error("cannot read " + path + "; set data.directory");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

}  // namespace

Images read_idx(const std::string& directory, const std::string& part) {
  auto pixels = read(directory + "/" + part + "-images-idx3-ubyte.gz", 16);
  auto labels = read(directory + "/" + part + "-labels-idx1-ubyte.gz", 8);
  const auto count = static_cast<std::int64_t>(labels.size());
  const auto images = torch::from_blob(pixels.data(), {count, 1, 28, 28}, torch::kUInt8);
  return {.images = (images / 255 - 0.2860) / 0.3530,
          .labels = torch::from_blob(labels.data(), {count}, torch::kUInt8).to(torch::kInt64)};
}
