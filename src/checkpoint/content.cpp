#include "det/checkpoint/content.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "det/base/text.h"
#include "det/checkpoint/files.h"
#include "det/checkpoint/sha256.h"

namespace det::checkpoint {

namespace {

// Small enough that what one read brings is still in the processor's cache when it is hashed and written.
constexpr std::size_t kBufferBytes = 256 << 10;
constexpr std::size_t kThreadsMax = 8;

struct Files {
  int source = -1;
  int target = -1;  ///< -1: nothing is written
  const std::string& shown_source;
  const std::string& shown_target;
};

void write_at(const Files& files, const char* data, std::size_t bytes, std::int64_t at) {
  while (bytes > 0) {
    const auto written = ::pwrite(files.target, data, bytes, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno("write " + files.shown_target, errno);
    data += written;
    bytes -= static_cast<std::size_t>(written);
    at += written;
  }
}

/// Copies the bytes from `begin` to `end`, and passes them to `take`.
template <typename Take>
void read_range(const Files& files, std::int64_t begin, std::int64_t end, char* buffer, Take take) {
  for (auto at = begin; at < end;) {
    const auto wanted = std::min<std::int64_t>(kBufferBytes, end - at);
    const auto got = ::pread(files.source, buffer, static_cast<std::size_t>(wanted), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno("read " + files.shown_source, errno);
    if (got == 0)
      throw Failure(Error(ErrorCode::FailedPrecondition,
                          fmt::format("{} became shorter while it was read", files.shown_source)));
    take(buffer, static_cast<std::size_t>(got));
    if (files.target >= 0) write_at(files, buffer, static_cast<std::size_t>(got), at);
    at += got;
  }
}

PieceSum canonical(XXH128_hash_t hash) {
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, hash);
  return std::to_array(sum.digest);
}

/// The pieces of one file, which several threads share.
class Pieces {
 public:
  Pieces(const Files& files, std::int64_t bytes, std::int64_t piece_bytes)
      : files_(files),
        bytes_(bytes),
        piece_bytes_(piece_bytes),
        sums_(static_cast<std::size_t>((bytes + piece_bytes - 1) / piece_bytes)) {}

  std::vector<PieceSum> sums() {
    const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < std::min({processors, kThreadsMax, sums_.size()}); ++i)
      others.emplace_back([this] { work(); });
    work();
    for (auto& other : others) other.join();
    if (failed_) throw Failure(*failed_);
    return std::move(sums_);
  }

 private:
  void work() {
    const auto buffer = std::make_unique_for_overwrite<char[]>(kBufferBytes);
    const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                                XXH3_freeState);
    try {
      for (auto i = next_++; i < sums_.size(); i = next_++) {
        const auto begin = static_cast<std::int64_t>(i) * piece_bytes_;
        XXH3_128bits_reset(state.get());
        read_range(files_, begin, std::min(bytes_, begin + piece_bytes_), buffer.get(),
                   [&](const char* data, std::size_t size) { XXH3_128bits_update(state.get(), data, size); });
        sums_[i] = canonical(XXH3_128bits_digest(state.get()));
      }
    } catch (const Failure& failure) {
      const std::lock_guard lock(mutex_);
      if (!failed_) failed_ = failure.error;
      next_ = sums_.size();
    }
  }

  const Files& files_;
  const std::int64_t bytes_, piece_bytes_;
  std::vector<PieceSum> sums_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::optional<Error> failed_;
};

std::string xxh3(const Files& files, std::int64_t bytes) {
  const auto sums = Pieces(files, bytes, kPieceBytes).sums();
  const auto whole = canonical(XXH3_128bits(sums.data(), sums.size() * sizeof(PieceSum)));
  return hexadecimal({reinterpret_cast<const char*>(whole.data()), whole.size()});
}

std::string sha256(const Files& files, std::int64_t bytes) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kBufferBytes);
  Sha256 hash;
  read_range(files, 0, bytes, buffer.get(), [&](const char* data, std::size_t size) {
    hash.update(reinterpret_cast<const unsigned char*>(data), size);
  });
  return hash.finish();
}

}  // namespace

std::vector<PieceSum> piece_sums(int file, std::int64_t bytes, std::int64_t piece_bytes,
                                 const std::string& shown) {
  const Files files{.source = file, .target = -1, .shown_source = shown, .shown_target = shown};
  return Pieces(files, bytes, piece_bytes).sums();
}

Copied copy_and_hash(int source, int target, const std::string& shown_source, const std::string& shown_target,
                     Hash hash) {
  // A shared copy is instant; it is then read back to hash what is really there.
  const bool shared = target >= 0 && ::ioctl(target, FICLONE, source) == 0;
  const Files files{.source = shared ? target : source,
                    .target = shared ? -1 : target,
                    .shown_source = shown_source,
                    .shown_target = shown_target};
  struct stat status{};
  if (::fstat(files.source, &status) != 0) throw_errno("read " + shown_source, errno);
  ::posix_fadvise(files.source, 0, 0, POSIX_FADV_SEQUENTIAL);
  const std::int64_t bytes = status.st_size;
  return {.bytes = bytes, .sum = hash == Hash::Sha256 ? sha256(files, bytes) : xxh3(files, bytes)};
}

}  // namespace det::checkpoint
