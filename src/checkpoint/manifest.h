#pragma once

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "det/base/error.h"
#include "det/checkpoint/content.h"
#include "det/checkpoint/storage.h"

namespace det::checkpoint {

/// The manifest's file name in a checkpoint's directory. Belongs to the
/// storage: never saved or restored as a member.
inline constexpr const char* kManifestName = ".det-manifest.json";

/// What the original writes beside the files of a checkpoint, the second in releases before 0.18. Without a
/// manifest, one of them tells whose the files are.
inline constexpr std::array kMarksOfOriginal{"metadata.json", "load_data.json"};

/// A file and one of the two sums; none of a file that the original wrote.
struct ManifestFile {
  std::int64_t size = 0;
  std::optional<std::string> sha256{};
  std::optional<std::string> xxh3{};  ///< `Hash::Xxh3`, since version 2
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;

  static ManifestFile of(Copied content, Hash hash);
  Hash hash() const { return sha256 ? Hash::Sha256 : Hash::Xxh3; }
};
BOOST_DESCRIBE_STRUCT(ManifestFile, (), (size, sha256, xxh3))

/// What a checkpoint consists of, so that damage is found before it is used.
struct Manifest {
  std::int64_t version = 2;  ///< 1: every sum is SHA-256
  std::map<std::string, ManifestFile> files;
  std::set<std::string> directories;  ///< each ends in "/"
  friend bool operator==(const Manifest&, const Manifest&) = default;
};
BOOST_DESCRIBE_STRUCT(Manifest, (), (version, files, directories))

std::string encode(const Manifest& manifest);
/// Refuses names that leave the directory and versions newer than this.
Result<Manifest> decode(const std::string& text);

/// As `decode`, and throws Failure: `shown`, where the text was, is damaged.
Manifest decode_stored(const std::string& text, const std::string& shown);

/// Throws Failure that says how a file differs from what was saved; nothing where it does not. The content is
/// hashed by `expected.hash()`.
void check_content(const std::string& shown, const ManifestFile& expected, const Copied& content);

/// Throws Failure: what is `shown` is missing, so that the checkpoint is damaged.
[[noreturn]] void throw_missing(const std::string& shown);

Resources resources(const Manifest& manifest);

}  // namespace det::checkpoint
