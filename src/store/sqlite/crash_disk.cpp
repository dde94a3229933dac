#include "det/store/sqlite/crash_disk.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>

namespace det::store {

namespace {

std::atomic<CrashDisk*> recording = nullptr;
std::atomic<bool> syncs_fail = false;
sqlite3_vfs* real_vfs = nullptr;

// The real file's own object follows in memory: SQLite allocates szOsFile bytes.
struct ShimFile {
  sqlite3_file base;
  const char* path;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
ShimFile& shim(sqlite3_file* file) {
  return *reinterpret_cast<ShimFile*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return shim(file).real();
}

CrashDisk* recorder(sqlite3_file* file) {
  auto* disk = recording.load();
  return disk != nullptr && shim(file).path != nullptr && disk->records(shim(file).path) ? disk : nullptr;
}

int shim_write(sqlite3_file* f, const void* data, int size, sqlite3_int64 offset) {
  const int code = real(f)->pMethods->xWrite(real(f), data, size, offset);
  if (auto* disk = recorder(f))
    disk->written(shim(f).path, offset, {static_cast<const char*>(data), static_cast<std::size_t>(size)});
  return code;
}
int shim_truncate(sqlite3_file* f, sqlite3_int64 size) {
  const int code = real(f)->pMethods->xTruncate(real(f), size);
  if (auto* disk = recorder(f)) disk->truncated(shim(f).path, size);
  return code;
}
int shim_sync(sqlite3_file* f, int flags) {
  if (syncs_fail) return SQLITE_IOERR_FSYNC;
  const int code = real(f)->pMethods->xSync(real(f), flags);
  if (auto* disk = recorder(f)) disk->synced(shim(f).path);
  return code;
}

const sqlite3_io_methods kMethods = {
    2,
    [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
    [](sqlite3_file* f, void* data, int size, sqlite3_int64 at) {
      return real(f)->pMethods->xRead(real(f), data, size, at);
    },
    shim_write,
    shim_truncate,
    shim_sync,
    [](sqlite3_file* f, sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); },
    [](sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); },
    [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); },
    [](sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
    [](sqlite3_file* f, int op, void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); },
    [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
    [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
    [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
      return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
    },
    [](sqlite3_file* f, int offset, int n, int flags) {
      return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
    },
    [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
    [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
    nullptr,
    nullptr,
};

int shim_open(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  auto& f = shim(file);
  std::memset(&f, 0, sizeof f);
  const int code = real_vfs->xOpen(real_vfs, path, f.real(), flags, out_flags);
  f.path = path;  // SQLite keeps it as long as the file is open
  f.base.pMethods = f.real()->pMethods != nullptr ? &kMethods : nullptr;
  return code;
}

}  // namespace

void CrashDisk::install() {
  static sqlite3_vfs vfs = [] {
    real_vfs = sqlite3_vfs_find(nullptr);
    sqlite3_vfs copy = *real_vfs;
    copy.zName = "crash_disk";
    copy.szOsFile = static_cast<int>(sizeof(ShimFile)) + real_vfs->szOsFile;
    copy.xOpen = shim_open;
    return copy;
  }();
  sqlite3_vfs_register(&vfs, 1);
}

void CrashDisk::fail_syncs() {
  syncs_fail = true;
}

CrashDisk::CrashDisk(std::filesystem::path database, std::function<void()> after_operation)
    : after_operation_(std::move(after_operation)) {
  for (const auto* suffix : {"", "-wal"}) {
    const auto path = database.string() + suffix;
    std::ifstream in(path, std::ios::binary);
    files_[path].synced.assign(std::istreambuf_iterator<char>(in), {});
  }
  recording = this;
}

CrashDisk::~CrashDisk() {
  recording = nullptr;
}

void CrashDisk::written(const std::string& path, std::int64_t offset, std::string_view bytes) {
  files_[path].pending.push_back({offset, std::string(bytes), false});
  after_operation_();
}

void CrashDisk::truncated(const std::string& path, std::int64_t size) {
  files_[path].pending.push_back({size, {}, true});
  after_operation_();
}

void CrashDisk::synced(const std::string& path) {
  auto& file = files_[path];
  for (const auto& operation : file.pending) apply(operation, file.synced);
  file.pending.clear();
  after_operation_();
}

void CrashDisk::apply(const Operation& operation, std::string& image) {
  const auto at = static_cast<std::size_t>(operation.offset);
  if (operation.truncates) return image.resize(at);
  if (image.size() < at + operation.bytes.size()) image.resize(at + operation.bytes.size());
  image.replace(at, operation.bytes.size(), operation.bytes);
}

void CrashDisk::write_image(const std::filesystem::path& directory, Unsynced unsynced,
                            std::mt19937& random) const {
  for (const auto& [path, file] : files_) {
    auto image = file.synced;
    for (const auto& operation : file.pending) {
      if (unsynced == Unsynced::None || (unsynced == Unsynced::Some && random() % 2 == 0)) continue;
      auto torn = operation;
      const bool tears =
          unsynced == Unsynced::Some && &operation == &file.pending.back() && random() % 2 == 0;
      if (tears) torn.bytes.resize(torn.bytes.size() / 2 / 512 * 512);
      apply(torn, image);
    }
    std::ofstream(directory / std::filesystem::path(path).filename(), std::ios::binary) << image;
  }
}

}  // namespace det::store
