#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"

namespace det::master {

/// One entry of a submitted directory, as clients send it (cli.md §19).
struct SubmittedFile {
  std::string path;
  std::int32_t type = 48;  ///< 48 regular file, 53 directory: tar's type codes
  std::string content;     ///< base64
  std::int32_t mode = 0644;
  std::int64_t mtime = 0;
  std::int32_t uid = 0, gid = 0;
};
BOOST_DESCRIBE_STRUCT(SubmittedFile, (), (path, type, content, mode, mtime, uid, gid))

struct ModelDefinition {
  std::string archive;  ///< tar.gz
  std::string digest;   ///< of the entries: the same files give the same digest
};

/// Checks the entries and packs them. Refuses names that leave the directory, other types
/// than files and directories, duplicates, and more than the limits of reliability.md §6.
Result<ModelDefinition> pack(const std::vector<SubmittedFile>& files);

}  // namespace det::master
