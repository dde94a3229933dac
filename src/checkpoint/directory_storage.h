#pragma once

#include <optional>
#include <string>

#include "det/checkpoint/files.h"
#include "det/checkpoint/manifest.h"
#include "det/checkpoint/storage.h"

namespace det::checkpoint {

/// Checkpoints below one directory of a file system, local or shared.
///
/// `<root>/<uuid>` is complete: it gets its name last, by one rename, when
/// everything in it is on the disk. `<root>/.<uuid>.partial-<random>` is a save in
/// progress or interrupted, `<root>/.<uuid>.deleted` a removal.
class DirectoryStorage : public Storage {
 public:
  /// Where `within` is given, the root must really lie inside it: not only by
  /// its name, but also after symbolic links are followed.
  explicit DirectoryStorage(std::filesystem::path root, std::filesystem::path within = {});

  Result<Resources> save(const std::filesystem::path& directory, const std::string& uuid) override;
  Result<std::filesystem::path> draft(const std::string& uuid) override;
  Result<Resources> publish(const std::string& uuid, const std::filesystem::path& draft) override;
  Result<void> remove(const std::string& uuid) override;
  Result<void> discard(const std::string& uuid) override;
  Result<Resources> remove_files(const std::string& uuid, const std::vector<std::string>& names) override;
  Result<bool> exists(const std::string& uuid) override;
  Result<bool> is_of_original(const std::string& uuid) override;
  Result<std::vector<std::string>> list() override;
  std::filesystem::path path(const std::string& uuid) const override;
  Result<std::int64_t> sweep(std::chrono::seconds age) override;
  Result<void> probe() override;

 private:
  Fd open_root() const;                 ///< Creates it if necessary.
  std::optional<Fd> find_root() const;  ///< Nothing if it does not exist.
  void check_within(const Fd& root) const;
  std::string shown(const std::string& name) const;

  void write_partial(int root, const std::string& partial, const std::filesystem::path& source,
                     Manifest& manifest) const;
  /// Hashes and syncs the files of a draft where they are. Links to files outside of it become files of its
  /// own.
  void seal(int root, const std::string& partial, Manifest& manifest) const;
  /// Gives a whole partial directory its name.
  Resources finish(int root, const std::string& partial, const std::string& uuid,
                   const Manifest& manifest) const;
  void drop(int root, const std::string& partial) const noexcept;
  Manifest read_manifest(int root, const std::string& uuid) const;
  bool is_of_original(int root, const std::string& uuid) const;
  /// What a checkpoint of the original has, without hashes.
  Manifest list_original(const std::string& uuid) const;
  Manifest read_checkpoint(const std::string& uuid, const std::filesystem::path& target) override;

  std::filesystem::path root_;
  std::filesystem::path within_;
};

}  // namespace det::checkpoint
