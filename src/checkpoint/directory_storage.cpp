#include "det/checkpoint/directory_storage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <map>
#include <utility>

#include "det/checkpoint/guarded.h"

namespace det::checkpoint {

namespace fs = std::filesystem;

namespace {

/// Adds to "no space left" what the reader needs to act on it.
void explain_no_space(Failure& failure, const fs::path& root, const fs::path& directory) {
  if (failure.error.code() != ErrorCode::ResourceExhausted) return;
  std::int64_t needed = 0;
  try {
    for (const auto& member : scan(directory)) needed += member.bytes;
  } catch (const Failure&) {
    return;
  }
  struct statvfs space{};
  std::string free = "an unknown number of";
  if (::statvfs(root.c_str(), &space) == 0) free = std::to_string(space.f_bavail * space.f_frsize);
  failure.error =
      Error(failure.error.code(), fmt::format("{} (the checkpoint has {} bytes, {} bytes are free in {})",
                                              failure.error.message(), needed, free, root.string()));
}

/// Whether `name` is what an interrupted save or removal leaves behind.
bool is_leftover(const std::string& name) {
  return name.starts_with('.') && (name.find(".partial-") != std::string::npos ||
                                   name.ends_with(".deleted") || name.starts_with(".probe-"));
}

/// Whether it is that of this uuid. `.draft-` is where ranks on several machines gather their files.
bool is_leftover_of(const std::string& uuid, const std::string& name) {
  const auto partial = "." + uuid + ".partial-";
  return name == "." + uuid + ".deleted" || name == ".draft-" + uuid ||
         (name.starts_with(partial) && name.find('.', partial.size()) == std::string::npos);
}

/// Files of one tree that are hard links to one another, so that a copy of the tree has them as links, too.
class Links {
 public:
  /// The earlier member that is the same file as `name`, opened as `file`; null where there is none.
  const std::string* earlier(int file, const std::string& name) {
    struct stat status{};
    if (::fstat(file, &status) != 0 || status.st_nlink < 2) return nullptr;
    const auto [place, added] = seen_.try_emplace({status.st_dev, status.st_ino}, name);
    return added ? nullptr : &place->second;
  }

 private:
  std::map<std::pair<dev_t, ino_t>, std::string> seen_;
};

/// Which files of a draft are only there: not symbolic links, and not hard links to files outside, which
/// others may change.
class OwnFiles {
 public:
  OwnFiles(int directory, const std::vector<Member>& members) {
    for (const auto& member : members)
      if (const auto status = look(directory, member.name); S_ISREG(status.st_mode) && status.st_nlink > 1)
        ++links_[{status.st_dev, status.st_ino}];
  }
  bool has(int directory, const std::string& name) const {
    const auto status = look(directory, name);
    if (!S_ISREG(status.st_mode)) return false;
    const auto links = links_.find({status.st_dev, status.st_ino});
    return status.st_nlink == 1 || (links != links_.end() && links->second == status.st_nlink);
  }

 private:
  static struct stat look(int directory, const std::string& name) {
    struct stat status{};
    ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    return status;
  }

  std::map<std::pair<dev_t, ino_t>, nlink_t> links_;
};

/// Replaces a link by a copy of the file that it leads to.
void copy_here(int directory, const std::string& name, const std::string& shown) {
  const auto copy = name + ".det-copy";
  const Fd in(::openat(directory, name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!in) throw_errno("read " + shown, errno);
  copy_and_hash(in.get(), create_file(directory, copy, shown).get(), shown, shown);
  if (::renameat(directory, copy.c_str(), directory, name.c_str()) != 0) throw_errno("write " + shown, errno);
}

/// Whether `name` is now a link to `earlier`; not so where the file system has no hard links.
bool link_within(int directory, const std::string& earlier, const std::string& name) {
  return ::linkat(directory, earlier.c_str(), directory, name.c_str(), 0) == 0;
}

}  // namespace

DirectoryStorage::DirectoryStorage(fs::path root, fs::path within)
    : root_(std::move(root)), within_(std::move(within)) {}

std::string DirectoryStorage::shown(const std::string& name) const {
  return (root_ / name).string();
}

fs::path DirectoryStorage::path(const std::string& uuid) const {
  return root_ / uuid;
}

void DirectoryStorage::check_within(const Fd& root) const {
  if (within_.empty()) return;
  std::error_code failure;
  const auto real = fs::read_symlink(fmt::format("/proc/self/fd/{}", root.get()), failure);
  if (failure) throw_errno("resolve " + root_.string(), failure.value());
  const auto outer = fs::canonical(within_, failure);
  if (failure) throw_errno("resolve " + within_.string(), failure.value());
  const auto relative = real.lexically_relative(outer);
  if (relative.empty() || *relative.begin() == "..")
    throw Failure(Error(ErrorCode::PermissionDenied,
                        fmt::format("checkpoint storage {} is a symbolic link to {}, which is outside {}",
                                    root_.string(), real.string(), within_.string())));
}

Fd DirectoryStorage::open_root() const {
  std::error_code failure;
  fs::create_directories(root_, failure);
  if (failure) throw_errno("create checkpoint storage " + root_.string(), failure.value());
  Fd root(::open(root_.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  if (!root) throw_errno("open checkpoint storage " + root_.string(), errno);
  check_within(root);
  return root;
}

std::optional<Fd> DirectoryStorage::find_root() const {
  Fd root(::open(root_.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  if (!root && errno == ENOENT) return std::nullopt;
  if (!root) throw_errno("open checkpoint storage " + root_.string(), errno);
  check_within(root);
  return root;
}

void DirectoryStorage::write_partial(int root, const std::string& partial, const fs::path& source,
                                     Manifest& manifest) const {
  create_directory(root, partial, shown(partial));
  const Fd target = open_directory_beneath(root, partial, shown(partial));
  Links links;
  Unsynced unsynced;
  for (const auto& member : scan(source)) {
    if (member.name == kManifestName) continue;  // came along with files copied out of another checkpoint
    const auto shown_target = shown(partial + "/" + member.name);
    if (member.is_directory()) {
      create_directory(target.get(), member.name, shown_target);
      manifest.directories.insert(member.name);
      continue;
    }
    const auto from = (source / member.name).string();
    const Fd in = open_source(from);
    const auto* earlier = links.earlier(in.get(), member.name);
    if (earlier != nullptr && link_within(target.get(), *earlier, member.name)) {
      manifest.files[member.name] = manifest.files.at(*earlier);
      continue;
    }
    Fd out = create_file(target.get(), member.name, shown_target);
    manifest.files[member.name] =
        ManifestFile::of(copy_and_hash(in.get(), out.get(), from, shown_target), Hash::Xxh3);
    unsynced.add(std::move(out), shown_target);
  }
  unsynced.sync_all();
}

void DirectoryStorage::seal(int root, const std::string& partial, Manifest& manifest) const {
  const Fd target = open_directory_beneath(root, partial, shown(partial));
  const auto members = scan(root_ / partial);
  const OwnFiles own(target.get(), members);
  Links links;
  Unsynced unsynced;
  for (const auto& member : members) {
    const auto shown_member = shown(partial + "/" + member.name);
    if (member.name == kManifestName) {
      ::unlinkat(target.get(), kManifestName, 0);
      continue;
    }
    if (member.is_directory()) {
      manifest.directories.insert(member.name);
      continue;
    }
    if (!own.has(target.get(), member.name)) copy_here(target.get(), member.name, shown_member);
    Fd file = open_file_beneath(target.get(), member.name, shown_member);
    if (const auto* earlier = links.earlier(file.get(), member.name)) {
      manifest.files[member.name] = manifest.files.at(*earlier);
      continue;
    }
    begin_sync(file.get());  // the disk writes while the processor hashes
    manifest.files[member.name] =
        ManifestFile::of(copy_and_hash(file.get(), -1, shown_member, ""), Hash::Xxh3);
    unsynced.add(std::move(file), shown_member);
  }
  unsynced.sync_all();
}

Resources DirectoryStorage::finish(int root, const std::string& partial, const std::string& uuid,
                                   const Manifest& manifest) const {
  const Fd target = open_directory_beneath(root, partial, shown(partial));
  write_text(target.get(), kManifestName, encode(manifest), shown(partial + "/" + kManifestName));
  for (const auto& name : manifest.directories)
    sync(open_directory_beneath(target.get(), name, shown(partial + "/" + name)).get(),
         shown(partial + "/" + name));
  sync(target.get(), shown(partial));
  // A rename never replaces a directory that has anything in it, so an
  // earlier checkpoint cannot be lost here, nor in a race.
  if (::renameat(root, partial.c_str(), root, uuid.c_str()) == 0) {
    sync(root, root_.string());
    return resources(manifest);
  }
  if (errno != ENOTEMPTY && errno != EEXIST)
    throw_errno("rename " + shown(partial) + " to " + shown(uuid), errno);
  if (read_manifest(root, uuid) != manifest)
    throw Failure(Error(ErrorCode::AlreadyExists, shown(uuid) + " already exists with different content"));
  sync(root, root_.string());  // who made it may have crashed before this
  remove_tree(root, partial, shown(partial));
  return resources(manifest);
}

void DirectoryStorage::drop(int root, const std::string& partial) const noexcept {
  try {
    remove_tree(root, partial, shown(partial));
  } catch (const Failure&) {  // the first failure matters more; sweep() finds the rest
  }
}

Result<Resources> DirectoryStorage::save(const fs::path& directory, const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    const Fd root = open_root();
    const auto partial = fmt::format(".{}.partial-{}", uuid, new_uuid());
    try {
      Manifest manifest;
      write_partial(root.get(), partial, directory, manifest);
      return finish(root.get(), partial, uuid, manifest);
    } catch (Failure& failure) {
      explain_no_space(failure, root_, directory);
      drop(root.get(), partial);
      throw;
    }
  });
}

Result<fs::path> DirectoryStorage::draft(const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    const auto partial = fmt::format(".{}.partial-{}", uuid, new_uuid());
    create_directory(open_root().get(), partial, shown(partial));
    return root_ / partial;
  });
}

Result<Resources> DirectoryStorage::publish(const std::string& uuid, const fs::path& draft) {
  return guarded(uuid, [&] {
    check_name(uuid);
    const auto partial = draft.filename().string();
    if (draft.parent_path() != root_ || !is_leftover_of(uuid, partial))
      throw Failure(Error(ErrorCode::InvalidArgument, fmt::format("{} is no draft of this checkpoint in {}",
                                                                  draft.string(), root_.string())));
    const Fd root = open_root();
    try {
      Manifest manifest;
      seal(root.get(), partial, manifest);
      return finish(root.get(), partial, uuid, manifest);
    } catch (Failure& failure) {
      explain_no_space(failure, root_, draft);
      drop(root.get(), partial);
      throw;
    }
  });
}

Manifest DirectoryStorage::read_manifest(int root, const std::string& uuid) const {
  if (!exists_beneath(root, uuid, root_.string()))
    throw Failure(Error(ErrorCode::NotFound, "checkpoint not found in " + root_.string()));
  const auto name = uuid + "/" + kManifestName;
  if (!exists_beneath(root, name, root_.string())) throw_missing(shown(name));
  const Fd file = open_file_beneath(root, name, shown(name));
  return decode_stored(read_text(file.get(), shown(name)), shown(name));
}

bool DirectoryStorage::is_of_original(int root, const std::string& uuid) const {
  const auto has = [&](const char* name) { return exists_beneath(root, uuid + "/" + name, root_.string()); };
  return !has(kManifestName) && std::any_of(kMarksOfOriginal.begin(), kMarksOfOriginal.end(), has);
}

Result<bool> DirectoryStorage::is_of_original(const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    const auto root = find_root();
    return root && is_of_original(root->get(), uuid);
  });
}

Manifest DirectoryStorage::list_original(const std::string& uuid) const {
  Manifest manifest;
  for (const auto& member : scan(root_ / uuid))
    if (member.is_directory())
      manifest.directories.insert(member.name);
    else
      manifest.files[member.name] = {.size = member.bytes};
  return manifest;
}

Manifest DirectoryStorage::read_checkpoint(const std::string& uuid, const fs::path& target) {
  check_name(uuid);
  const auto root = find_root();
  if (!root) throw Failure(Error(ErrorCode::NotFound, "checkpoint storage not found at " + root_.string()));
  auto manifest = is_of_original(root->get(), uuid) ? list_original(uuid) : read_manifest(root->get(), uuid);
  const Fd checkpoint = open_directory_beneath(root->get(), uuid, shown(uuid));
  Fd out;
  if (!target.empty()) {
    out = Fd(::open(target.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
    if (!out) throw_errno("open directory " + target.string(), errno);
    for (const auto& name : manifest.directories)  // sorted: parents come first
      create_directory(out.get(), name, (target / name).string());
  }
  Links links;
  for (const auto& [name, expected] : manifest.files) {
    const auto from = shown(uuid + "/" + name);
    const auto to = (target / name).string();
    const Fd in = [&] {
      try {
        return open_file_beneath(checkpoint.get(), name, from);
      } catch (Failure& failure) {
        if (failure.error.code() != ErrorCode::NotFound) throw;
        throw_missing(from);
      }
    }();
    const auto* earlier = links.earlier(in.get(), name);
    if (earlier != nullptr && manifest.files.at(*earlier) == expected &&
        (!out || link_within(out.get(), *earlier, name)))
      continue;  // its content is checked already
    const Fd file = out ? create_file(out.get(), name, to) : Fd();
    check_content(from, expected, copy_and_hash(in.get(), file ? file.get() : -1, from, to, expected.hash()));
  }
  return manifest;
}

Result<void> DirectoryStorage::remove(const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    const auto root = find_root();
    if (!root) return;
    const auto deleted = "." + uuid + ".deleted";
    remove_tree(root->get(), deleted, shown(deleted));  // of a removal that was interrupted
    if (::renameat(root->get(), uuid.c_str(), root->get(), deleted.c_str()) != 0) {
      if (errno == ENOENT) return;
      throw_errno("delete " + shown(uuid), errno);
    }
    sync(root->get(), root_.string());
    remove_tree(root->get(), deleted, shown(deleted));
  });
}

Result<void> DirectoryStorage::discard(const std::string& uuid) {
  DET_TRY(const auto whole, exists(uuid));
  if (whole)
    if (auto removed = remove(uuid); !removed) return removed;
  return guarded(uuid, [&] {
    const auto root = find_root();
    if (!root) return;
    for (const auto& name : names_in(root->get(), root_.string()))
      if (is_leftover_of(uuid, name)) remove_tree(root->get(), name, shown(name));
  });
}

Result<Resources> DirectoryStorage::remove_files(const std::string& uuid,
                                                 const std::vector<std::string>& names) {
  return guarded(uuid, [&] {
    check_name(uuid);
    const auto root = find_root();
    if (!root) throw Failure(Error(ErrorCode::NotFound, "checkpoint storage not found at " + root_.string()));
    auto manifest = read_manifest(root->get(), uuid);
    const Fd checkpoint = open_directory_beneath(root->get(), uuid, shown(uuid));
    std::vector<std::string> gone;
    for (const auto& name : names)
      if (manifest.files.erase(name) > 0) gone.push_back(name);
    // First what the checkpoint consists of, then the files: a crash in between leaves files that nobody asks
    // for.
    const auto draft = std::string(kManifestName) + ".new";
    ::unlinkat(checkpoint.get(), draft.c_str(), 0);
    write_text(checkpoint.get(), draft, encode(manifest), shown(uuid + "/" + draft));
    if (::renameat(checkpoint.get(), draft.c_str(), checkpoint.get(), kManifestName) != 0)
      throw_errno("replace " + shown(uuid + "/" + kManifestName), errno);
    sync(checkpoint.get(), shown(uuid));
    for (const auto& name : gone)
      if (::unlinkat(checkpoint.get(), name.c_str(), 0) != 0 && errno != ENOENT)
        throw_errno("delete " + shown(uuid + "/" + name), errno);
    return resources(manifest);
  });
}

Result<bool> DirectoryStorage::exists(const std::string& uuid) {
  return guarded(uuid, [&] {
    check_name(uuid);
    const auto root = find_root();
    return root && exists_beneath(root->get(), uuid + "/" + kManifestName, root_.string());
  });
}

Result<std::vector<std::string>> DirectoryStorage::list() {
  return guarded("", [&] {
    std::vector<std::string> uuids;
    const auto root = find_root();
    if (!root) return uuids;
    for (auto& name : names_in(root->get(), root_.string()))
      if (is_checkpoint_name(name) && exists_beneath(root->get(), name + "/" + kManifestName, root_.string()))
        uuids.push_back(std::move(name));
    return uuids;
  });
}

Result<std::int64_t> DirectoryStorage::sweep(std::chrono::seconds age) {
  return guarded("", [&] {
    std::int64_t swept = 0;
    const auto root = find_root();
    if (!root) return swept;
    const std::int64_t now = std::time(nullptr);
    for (const auto& name : names_in(root->get(), root_.string())) {
      if (!is_leftover(name) || newest_change(root->get(), name, shown(name)) > now - age.count()) continue;
      remove_tree(root->get(), name, shown(name));
      ++swept;
    }
    return swept;
  });
}

Result<void> DirectoryStorage::probe() {
  return guarded("", [&] {
    const Fd root = open_root();
    const auto name = ".probe-" + new_uuid();
    try {
      write_text(root.get(), name, name, shown(name));
      const Fd file = open_file_beneath(root.get(), name, shown(name));
      if (read_text(file.get(), shown(name)) != name)
        throw Failure(Error(ErrorCode::Unavailable,
                            shown(name) + " has different content after it was written; check the storage"));
    } catch (const Failure&) {
      ::unlinkat(root.get(), name.c_str(), 0);
      throw;
    }
    remove_tree(root.get(), name, shown(name));
  });
}

std::unique_ptr<Storage> directory_storage(fs::path root) {
  return std::make_unique<DirectoryStorage>(std::move(root));
}

}  // namespace det::checkpoint
