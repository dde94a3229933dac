#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"

namespace det::cli {

/// A file or directory of a model definition, as the master takes it.
struct ContextEntry {
  std::string path;  ///< Relative, with "/".
  bool directory = false;
  int mode = 0;            ///< Permission bits.
  std::int64_t mtime = 0;  ///< Seconds since 1970.
  std::string content;     ///< Base64.
};

struct Context {
  std::vector<ContextEntry> entries;  ///< Sorted by path; directories are entries, too.
  std::int64_t bytes = 0;             ///< Of the encoded content.
  std::vector<std::string> skipped;   ///< What could not be read, a sentence each.
};

/// The most that the encoded content of a context may have: 95 MiB.
constexpr std::int64_t kContextBytesMax = (128LL * 1024 * 1024 / 8) * 6 - 1024 * 1024;

/// Told as the context grows, for display.
using ContextProgress = std::function<void(std::int64_t bytes, std::size_t entries)>;

/// Reads the model definition `directory` (empty: none) and what is to go with
/// it; `includes` keep their last name and land at the top.
///
/// Ignored are Python's compiled files, `.detignore` files, and what the
/// `.detignore` at the top of `directory` says (ignore.h). Links count as what
/// they point to; a link to one of its own parents is skipped. Files that
/// cannot be read, or are no files, are skipped and named. Never reads more
/// than the limit, however large the directory is.
Result<Context> pack_context(const std::filesystem::path& directory, const std::vector<std::string>& includes,
                             const ContextProgress& progress = {}, std::int64_t bytes_max = kContextBytesMax);

/// The directory as the user would name it from where they are: "." and ".."
/// are followed by the directory's name ("../mnist_pytorch"), all else is as given.
std::string display_path(const std::string& argument);

/// The list `modelDefinition` of POST /api/v1/experiments. Empties `context`,
/// so that the content is held once.
json::array context_json(Context context);

}  // namespace det::cli
