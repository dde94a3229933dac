#pragma once

#include <optional>
#include <string>

#include "det/base/error.h"

namespace det::cli {

/// Where the submitted code comes from.
struct GitOrigin {
  std::string remote;           ///< URL of the branch's upstream.
  std::string commit;           ///< Full hash.
  std::string committer;        ///< "Name <address>"
  std::string date;             ///< Of the commit, RFC 3339.
  std::string branch{};         ///< Empty: none is checked out.
  std::optional<bool> dirty{};  ///< Whether the directory differs from the commit.
};

/// Asks `git` about the directory. Fails when it is in no repository, has
/// uncommitted changes, or its branch follows none: then nobody could find the
/// code again.
Result<GitOrigin> git_origin(const std::string& directory);

/// What `git` knows of the directory, whatever its state; members that it does not know are empty. Nothing
/// where there is no git, no repository or no commit, or where it takes longer than two seconds.
std::optional<GitOrigin> git_found(const std::string& directory);

}  // namespace det::cli
