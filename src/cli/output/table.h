#pragma once

#include <boost/json/value.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/json.h"

namespace det::cli {

/// Rows under headers. A cell is null (shown blank), a boolean (True, False), a
/// number (aligned by its decimal point) or a text, which may have lines.
class Table {
 public:
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}

  /// Requires: as many cells as headers.
  void add(std::vector<json::value> cells);
  std::size_t size() const { return rows_.size(); }

  /// Header, rule, rows; no outer borders ("presto" style). Ends in a newline.
  std::string text() const;
  /// RFC 4180: header row, lines end in \r\n.
  std::string csv() const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<json::value>> rows_;
};

}  // namespace det::cli
