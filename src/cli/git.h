#pragma once

#include <string>

#include "det/base/error.h"

namespace det::cli {

/// Where the submitted code comes from.
struct GitOrigin {
  std::string remote;     ///< URL of the branch's upstream.
  std::string commit;     ///< Full hash.
  std::string committer;  ///< "Name <address>"
  std::string date;       ///< Of the commit, RFC 3339.
};

/// Asks `git` about the directory. Fails when it is in no repository, has
/// uncommitted changes, or its branch follows none: then nobody could find the
/// code again.
Result<GitOrigin> git_origin(const std::string& directory);

}  // namespace det::cli
