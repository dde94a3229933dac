#pragma once

#include <cstddef>
#include <string_view>

namespace det::store {

/// What SQLite and PostgreSQL say differently: expressions that statements are put together from.
struct Dialect {
  /// For `IN`: the integers, or the texts, of a JSON array that is one parameter. So there is no limit on
  /// their number, and one statement for all.
  std::string_view integers, texts;
  /// A function: the first place of the second text in the first, from 1; 0: nowhere.
  std::string_view position;
  /// Whether the bytes of `line` hold those of a parameter.
  std::string_view line_contains;
  /// Whether `best_metric` is not a number.
  std::string_view best_metric_is_nan;
  /// The keys of some metric blocks without sums, by their index.
  std::string_view stale_blocks;
  /// Whether an UPDATE looks into indexes only where an indexed value really changes.
  bool compares_indexed_values = false;
  /// How many rows one INSERT brings at best.
  std::size_t rows_at_once = 1;
  /// Whether texts may hold the character NUL.
  bool stores_nul = true;
};

}  // namespace det::store
