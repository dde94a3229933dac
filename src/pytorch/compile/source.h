#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace det::pytorch {

/// The submitted source of a model definition as it was before the trial began to run, for its checkpoints.
/// Files up to 1 MiB are kept in memory; larger ones are copied when asked for.
class Source {
 public:
  Source() = default;  ///< Nothing: a trial without a directory.
  explicit Source(std::filesystem::path root);

  const std::filesystem::path& root() const { return root_; }
  /// Writes it below `target`, which must not exist. Without a directory: nothing.
  void write(const std::filesystem::path& target) const;

 private:
  std::filesystem::path root_;
  std::vector<std::filesystem::path> directories_;
  std::map<std::filesystem::path, std::string> contents_;
  std::vector<std::filesystem::path> large_;
};

/// A whole file; empty where it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace det::pytorch
