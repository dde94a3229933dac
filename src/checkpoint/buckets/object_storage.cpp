#include "det/checkpoint/buckets/object_storage.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <thread>

#include "det/checkpoint/guarded.h"
#include "det/checkpoint/sha256.h"

namespace det::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr const char* kUnfinished = ".det-unfinished";
constexpr std::size_t kAtOnce = 8;
constexpr std::int64_t kChangesFrom = 2 * kPartBytes;  ///< Smaller files are sent whole.

struct ByContent {
  std::vector<std::string> first;
  std::map<std::string, std::string> again;  ///< name -> the first of the same content
};

/// Large files of the same content, such as hard links, are sent once.
ByContent by_content(const Manifest& manifest) {
  ByContent names;
  std::map<std::pair<std::string, std::int64_t>, std::string> known;
  for (const auto& [name, file] : manifest.files) {
    const auto [like, is_new] = known.try_emplace({file.sha256.value_or(""), file.size}, name);
    if (is_new || file.size < kChangesFrom)
      names.first.push_back(name);
    else
      names.again[name] = like->second;
  }
  return names;
}

/// Runs `body(item)` for all, some at once: a bucket answers late, and many checkpoints are many small files.
/// Throws the first failure, when all that had begun are over.
template <typename Items, typename Body>
void for_each_at_once(const Items& items, Body body) {
  std::vector<typename Items::const_iterator> order;
  for (auto item = items.begin(); item != items.end(); ++item) order.push_back(item);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> failed;
  const auto work = [&] {
    for (auto i = next++; i < order.size(); i = next++) try {
        body(*order[i]);
      } catch (const Failure& failure) {
        const std::lock_guard lock(mutex);
        if (!failed) failed = failure.error;
        next = order.size();
      }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(kAtOnce, order.size()); ++i) others.emplace_back(work);
  work();
  for (auto& other : others) other.join();
  if (failed) throw Failure(*failed);
}

}  // namespace

ObjectStorage::ObjectStorage(std::unique_ptr<ObjectStore> objects, std::string prefix)
    : objects_(std::move(objects)), prefix_(std::move(prefix)) {}

std::string ObjectStorage::key(const std::string& uuid, const std::string& name) const {
  return prefix_ + uuid + "/" + name;
}

fs::path ObjectStorage::path(const std::string&) const {
  return {};
}

Result<Resources> ObjectStorage::save(const fs::path& directory, const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    Manifest manifest{.version = 1};  // S3 compares SHA-256, so it is the sum to have
    for (const auto& member : scan(directory)) {
      if (member.name == kManifestName) continue;  // came along with files copied out of another checkpoint
      if (member.is_directory()) {
        manifest.directories.insert(member.name);
        continue;
      }
      const auto from = (directory / member.name).string();
      manifest.files[member.name] =
          ManifestFile::of(copy_and_hash(open_source(from).get(), -1, from, "", Hash::Sha256), Hash::Sha256);
    }
    if (const auto earlier = find_manifest(uuid)) {
      if (*earlier != manifest)
        throw Failure(Error(ErrorCode::AlreadyExists,
                            objects_->shown(prefix_ + uuid) + " already exists with different content"));
      return resources(manifest);
    }
    objects_->put(key(uuid, kUnfinished), std::string_view());
    const auto earlier = last_saved();
    const auto now = std::make_shared<Earlier>(Earlier{.uuid = uuid, .files = {}});
    const auto [first, again] = by_content(manifest);
    for_each_at_once(first, [&](const std::string& name) {
      put_file(uuid, directory, name, manifest.files.at(name), earlier.get(), *now);
    });
    for_each_at_once(again, [&](const auto& names) {
      const auto& [name, like] = names;
      const auto& saved = manifest.files.at(name);
      const auto file = open_source((directory / name).string());
      objects_->put_changes(key(uuid, name), file.get(), segments(now->files.at(like), now->files.at(like)),
                            key(uuid, like), saved.sha256.value_or(""));
    });
    objects_->put(key(uuid, kManifestName), encode(manifest));
    objects_->remove(key(uuid, kUnfinished));
    const std::lock_guard lock(mutex_);
    earlier_ = now;
    return resources(manifest);
  });
}

std::shared_ptr<const ObjectStorage::Earlier> ObjectStorage::last_saved() {
  const std::lock_guard lock(mutex_);
  return earlier_;
}

void ObjectStorage::put_file(const std::string& uuid, const fs::path& directory, const std::string& name,
                             const ManifestFile& saved, const Earlier* earlier, Earlier& now) {
  const auto path = (directory / name).string();
  const auto file = open_source(path);
  const auto sha256 = saved.sha256.value_or("");
  if (saved.size < kChangesFrom) return objects_->put(key(uuid, name), file.get(), saved.size, sha256);
  auto sums = part_sums(file.get(), saved.size, path);
  if (earlier != nullptr && earlier->files.contains(name))
    objects_->put_changes(key(uuid, name), file.get(), segments(earlier->files.at(name), sums),
                          key(earlier->uuid, name), sha256);
  else
    objects_->put(key(uuid, name), file.get(), saved.size, sha256);
  const std::lock_guard lock(mutex_);
  now.files[name] = std::move(sums);
}

std::optional<Manifest> ObjectStorage::find_manifest(const std::string& uuid) {
  const auto name = key(uuid, kManifestName);
  std::string text;
  try {
    text = objects_->text(name);
  } catch (const Failure& failure) {
    if (failure.error.code() == ErrorCode::NotFound) return std::nullopt;
    throw;
  }
  return decode_stored(text, objects_->shown(name));
}

Manifest ObjectStorage::read_manifest(const std::string& uuid) {
  if (auto manifest = find_manifest(uuid)) return *std::move(manifest);
  if (!objects_->list(key(uuid, "")).empty() && !objects_->find(key(uuid, kUnfinished)))
    throw_missing(objects_->shown(key(uuid, kManifestName)));
  throw Failure(Error(ErrorCode::NotFound, "checkpoint not found in " + objects_->shown(prefix_)));
}

void ObjectStorage::read_file(const std::string& uuid, const std::string& name, const ManifestFile& expected,
                              int target, const std::string& shown_target) {
  const auto from = objects_->shown(key(uuid, name));
  Sha256 hash;
  std::int64_t bytes = 0;
  const auto restart = [&] {
    hash = Sha256();
    bytes = 0;
    if (target >= 0) start_again(target, shown_target);
  };
  const auto take = [&](std::string_view piece) {
    hash.update(reinterpret_cast<const unsigned char*>(piece.data()), piece.size());
    bytes += static_cast<std::int64_t>(piece.size());
    if (target >= 0) write_all(target, piece, shown_target);
  };
  try {
    objects_->get(key(uuid, name), restart, take);
  } catch (const Failure& failure) {
    if (failure.error.code() != ErrorCode::NotFound) throw;
    throw_missing(from);
  }
  check_content(from, expected, {.bytes = bytes, .sum = hash.finish()});
}

std::optional<Manifest> ObjectStorage::list_original(const std::string& uuid) {
  const auto has = [&](const char* name) { return objects_->find(key(uuid, name)).has_value(); };
  if (has(kManifestName) || has(kUnfinished)) return std::nullopt;
  if (!std::any_of(kMarksOfOriginal.begin(), kMarksOfOriginal.end(), has)) return std::nullopt;
  Manifest manifest;
  const auto below = key(uuid, "");
  for (const auto& object : objects_->list(below)) {
    const auto name = object.key.substr(below.size());
    if (!is_member_name(name)) continue;
    if (name.ends_with('/'))
      manifest.directories.insert(name);
    else
      manifest.files[name] = {.size = object.bytes};
    // Here a directory is there only in names; on a disk it comes first.
    for (auto end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1))
      manifest.directories.insert(name.substr(0, end + 1));
  }
  return manifest;
}

Result<bool> ObjectStorage::is_of_original(const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    return list_original(uuid).has_value();
  });
}

Manifest ObjectStorage::read_checkpoint(const std::string& uuid, const fs::path& target) {
  check_name(uuid);
  auto original = find_manifest(uuid) ? std::nullopt : list_original(uuid);
  auto manifest = original ? *std::move(original) : read_manifest(uuid);
  Fd out;
  if (!target.empty()) {
    out = Fd(::open(target.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
    if (!out) throw_errno("open directory " + target.string(), errno);
    for (const auto& name : manifest.directories)  // sorted: parents come first
      create_directory(out.get(), name, (target / name).string());
  }
  for_each_at_once(manifest.files, [&](const auto& entry) {
    const auto& [name, expected] = entry;
    const auto to = (target / name).string();
    const Fd file = out ? create_file(out.get(), name, to) : Fd();
    read_file(uuid, name, expected, file.get(), to);
  });
  return manifest;
}

void ObjectStorage::remove_objects(const std::string& uuid) {
  // The manifest first, what says that this is not over last.
  objects_->remove(key(uuid, kManifestName));
  auto objects = objects_->list(key(uuid, ""));
  std::erase_if(objects, [&](const auto& object) { return object.key == key(uuid, kUnfinished); });
  for_each_at_once(objects, [&](const auto& object) { objects_->remove(object.key); });
  objects_->remove(key(uuid, kUnfinished));
}

Result<void> ObjectStorage::remove(const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    if (!objects_->find(key(uuid, kUnfinished))) {
      if (!objects_->find(key(uuid, kManifestName))) return;  // gone, or not of our making
      objects_->put(key(uuid, kUnfinished), std::string_view());
    }
    remove_objects(uuid);
  });
}

Result<void> ObjectStorage::discard(const std::string& uuid) {
  return remove(uuid);  // half a checkpoint says that it is one
}

Result<Resources> ObjectStorage::remove_files(const std::string& uuid,
                                              const std::vector<std::string>& names) {
  return guarded(uuid, [&] {
    check_name(uuid);
    auto manifest = read_manifest(uuid);
    std::vector<std::string> gone;
    for (const auto& name : names)
      if (manifest.files.erase(name) > 0) gone.push_back(name);
    // First what the checkpoint consists of: a crash in between leaves objects that nobody asks for.
    objects_->put(key(uuid, kManifestName), encode(manifest));
    for (const auto& name : gone) objects_->remove(key(uuid, name));
    return resources(manifest);
  });
}

Result<bool> ObjectStorage::exists(const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    return objects_->find(key(uuid, kManifestName)).has_value();
  });
}

Result<std::vector<std::string>> ObjectStorage::list() {
  return guarded("", [&] {
    std::vector<std::string> uuids;
    const auto suffix = std::string("/") + kManifestName;
    for (const auto& object : objects_->list(prefix_)) {
      if (!object.key.ends_with(suffix)) continue;
      auto uuid = object.key.substr(prefix_.size(), object.key.size() - prefix_.size() - suffix.size());
      if (is_checkpoint_name(uuid)) uuids.push_back(std::move(uuid));
    }
    return uuids;
  });
}

Result<std::int64_t> ObjectStorage::sweep(std::chrono::seconds age) {
  return guarded("", [&] {
    struct Found {
      bool unfinished = false;
      bool complete = false;
      std::int64_t changed = 0;
    };
    std::map<std::string, Found> found;
    for (const auto& object : objects_->list(prefix_)) {
      const auto relative = object.key.substr(prefix_.size());
      const auto slash = relative.find('/');
      if (slash == std::string::npos) {
        if (relative.starts_with(".probe-") && object.changed <= std::time(nullptr) - age.count())
          objects_->remove(object.key);
        continue;
      }
      auto& entry = found[relative.substr(0, slash)];
      const auto name = relative.substr(slash + 1);
      entry.unfinished |= name == kUnfinished;
      entry.complete |= name == kManifestName;
      entry.changed = std::max(entry.changed, object.changed);
    }
    std::int64_t swept = 0;
    for (const auto& [uuid, entry] : found) {
      if (!entry.unfinished || !is_checkpoint_name(uuid) || entry.changed > std::time(nullptr) - age.count())
        continue;
      if (entry.complete)
        objects_->remove(key(uuid, kUnfinished));  // a save that had come to its end, or a removal not begun
      else
        remove_objects(uuid);
      ++swept;
    }
    return swept;
  });
}

Result<void> ObjectStorage::probe() {
  return guarded("", [&] {
    const auto name = prefix_ + ".probe-" + new_uuid();
    objects_->put(name, name);
    if (objects_->text(name) != name)
      throw Failure(
          Error(ErrorCode::Unavailable,
                objects_->shown(name) + " has different content after it was written; check the storage"));
    objects_->remove(name);
  });
}

}  // namespace det::checkpoint
