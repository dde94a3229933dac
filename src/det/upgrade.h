#pragma once

#include <filesystem>

#include "det/base/error.h"

namespace det::commands {

/// Before this program changes the layout of a directory's SQLite database, the database is copied to
/// `determined.db.schema-N`, where N is its schema version: with that copy an older program can go on.
/// Nothing to do: there is no database, it has this program's schema, or it is none that this program opens.
Result<void> back_up_before_upgrade(const std::filesystem::path& directory);

}  // namespace det::commands
