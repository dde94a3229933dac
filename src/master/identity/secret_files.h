#pragma once

#include <filesystem>
#include <string>

#include "det/base/error.h"
#include "det/store/store.h"

namespace det::master {

/// A secret in a file that only its owner can read, made at the first start.
Result<std::string> secret_in(const std::filesystem::path& file, const char* what, const char* prefix);

/// Masters on one database have the same secrets: those of the first. They are in the database, and from
/// there in the directory of each.
Result<void> share_secrets(store::Store& store, const std::filesystem::path& directory);

}  // namespace det::master
