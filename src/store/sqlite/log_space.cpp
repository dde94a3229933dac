#include "det/store/sqlite/log_space.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace det::store {

namespace {

bool write_zeros(int descriptor, std::int64_t from, std::int64_t to) {
  const std::vector<char> zeros(1 << 16);
  while (from < to) {
    const auto size =
        static_cast<std::size_t>(std::min<std::int64_t>(to - from, static_cast<std::int64_t>(zeros.size())));
    const auto count = pwrite(descriptor, zeros.data(), size, from);
    if (count <= 0) return false;
    from += count;
  }
  return fdatasync(descriptor) == 0;
}

}  // namespace

void reserve_log_space(const std::filesystem::path& log, std::int64_t bytes) {
  const int descriptor = open(log.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  struct stat before{};
  if (fstat(descriptor, &before) == 0 && before.st_size < bytes &&
      !write_zeros(descriptor, before.st_size, bytes)) {
    // Gives back what was taken: the disk is nearly full. A failure leaves zeros, which do no harm.
    [[maybe_unused]] const int cut = ftruncate(descriptor, before.st_size);
  }
  close(descriptor);
}

}  // namespace det::store
