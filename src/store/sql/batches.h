#pragma once

#include <string>
#include <string_view>

#include "det/store/sql/sql.h"

/// Statements that put several rows at once, where that costs a database less.
namespace det::store {

/// "(?, ?), (?, ?)"
inline std::string repeated(std::string_view row, std::size_t times) {
  std::string text;
  text.reserve((row.size() + 2) * times);
  for (std::size_t i = 0; i < times; ++i) text.append(i == 0 ? "" : ", ").append(row);
  return text;
}

/// Divides `count` rows into batches of few sizes, so that few statements are prepared:
/// `put(from, rows)` for each.
template <class Put>
void for_each_batch(const Connection& connection, std::size_t count, Put&& put) {
  const auto most = connection.dialect().rows_at_once;
  for (std::size_t from = 0; from < count;) {
    std::size_t rows = 1;
    for (const std::size_t size : {64U, 16U, 4U})
      if (rows == 1 && size <= most && count - from >= size) rows = size;
    put(from, rows);
    from += rows;
  }
}

}  // namespace det::store
