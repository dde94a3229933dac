#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "det/base/error.h"

namespace det::store {

struct MovedTable {
  std::string name;
  std::int64_t rows = 0;
  std::uint64_t checksum = 0;  ///< a sum over the rows, in whatever order; tells damage, not an attacker
};

/// Copies all tables from one database to another, which must be new or empty: "sqlite:DIRECTORY" or
/// "postgres://…" each, one of each kind. No master may run on either. The copy is read back and compared
/// before it counts. An interrupted one is refused by masters, and continued by the next call with the same
/// places. The source stays as it is, but for its schema, which is brought up to date. `progress` gets each
/// table that is copied.
Result<std::vector<MovedTable>> move_store(const std::string& from, const std::string& to,
                                           const std::function<void(const MovedTable&)>& progress = {});

/// Copies a PostgreSQL database, as it is at one moment, to a new SQLite file, beside a master that may use
/// it. It is read back and compared as above, but made anew if it was interrupted. move_store brings it back.
Result<std::vector<MovedTable>> back_up_postgres(const std::string& target, const std::filesystem::path& file,
                                                 const std::function<void(const MovedTable&)>& progress = {});

}  // namespace det::store
