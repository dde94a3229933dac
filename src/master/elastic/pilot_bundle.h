#pragma once

#include <filesystem>
#include <string>

#include "det/base/error.h"

namespace det::master {

/// What a machine needs to run pilots, as this one has it: the program with its libraries besides those of
/// the C library, and the Python package. `bin/det` finds `lib/det` beside it.
class PilotBundle {
 public:
  explicit PilotBundle(std::filesystem::path scratch) : scratch_(std::move(scratch)) {}

  /// Another one where anything in it is of another version.
  Result<std::string> name();
  /// A compressed tar file.
  Result<std::string> tar();

 private:
  Result<void> collect();

  std::filesystem::path scratch_;  ///< where links to what belongs to it are laid
  std::string name_;
};

/// The Python of agents of this machine.
std::string usual_python();

}  // namespace det::master
