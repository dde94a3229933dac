#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"

namespace det::store {

struct ImportOptions {
  std::string from;  ///< the database of the original's master: postgres://USER@HOST:PORT/NAME
  std::string into;  ///< sqlite:DIRECTORY of a master, or postgres://…
  /// Told at most some times a second how far it is; `all` is 0 where that is not known.
  std::function<void(std::string_view what, std::int64_t done, std::int64_t all)> progress{};
  /// Told that the disk is full or the database cannot be reached, and that it continues.
  std::function<void(const std::string&)> on_stall{};
};

/// How many of a kind were imported, were here already as they are, and were left out.
struct ImportCount {
  std::string what;
  std::int64_t imported = 0, unchanged = 0, left_out = 0;
};
BOOST_DESCRIBE_STRUCT(ImportCount, (), (what, imported, unchanged, left_out))

/// What was left out, or came in another form, and why; with the first few that it is about.
struct ImportNote {
  std::string what, why;
  std::int64_t count = 0;
  std::vector<std::string> examples;
};
BOOST_DESCRIBE_STRUCT(ImportNote, (), (what, why, count, examples))

struct ImportReport {
  std::string from, cluster_id;
  std::int64_t schema_version = 0;  ///< the last migration of the source
  std::vector<ImportCount> counts;
  std::vector<ImportNote> left_out, changed;
  double seconds = 0;
  double metrics_per_second = 0;
};
BOOST_DESCRIBE_STRUCT(ImportReport, (),
                      (from, cluster_id, schema_version, counts, left_out, changed, seconds,
                       metrics_per_second))

/// Takes the database of an original cluster into ours. It is not changed, and its master may run. Ids stay.
/// What runs in the original is canceled here. It can be repeated: what was not there before, or has changed
/// in the original since, comes along; and interrupted: it continues where it stopped. No master may run on
/// `into`, which must be new, or have been imported from the same cluster before.
Result<ImportReport> import_determined(const ImportOptions& options);

std::string to_text(const ImportReport& report);

}  // namespace det::store
