#pragma once

#include <filesystem>
#include <functional>

#include "det/base/error.h"

namespace det::store {

/// Copies a database, also one that a master is writing, in one consistent piece: all that was committed when
/// the copy began or soon after, and nothing half. `target` appears whole or not at all, and is on the disk
/// when this returns. `progress` gets the pages that are done and all pages.
///
/// NotFound where there is no database, AlreadyExists where there is a `target`, Unavailable where the disk
/// does not do what it should.
Result<void> back_up_sqlite(const std::filesystem::path& database, const std::filesystem::path& target,
                            const std::function<void(int done, int all)>& progress = {});

/// A backup is a directory of several files. While it is made, a file of this name is in it.
inline constexpr const char* kUnfinishedBackup = "backup.unfinished";
/// A copy from PostgreSQL has this after its name until it is complete.
inline constexpr const char* kUnfinishedCopy = ".unfinished";
/// FailedPrecondition: `database` is of a backup or a copy that was interrupted, or is still under way.
Result<void> refuse_unfinished_backup(const std::filesystem::path& database);

}  // namespace det::store
