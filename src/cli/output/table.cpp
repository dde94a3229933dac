#include "det/cli/output/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "det/base/text.h"
#include "det/cli/output/console.h"
#include "det/cli/output/format.h"

namespace det::cli {
namespace {

// A column's header is this much narrower than the column, so that headers
// stand apart.
constexpr std::size_t kHeaderPadding = 2;

struct Column {
  bool numeric = true;
  std::size_t width = 0;
  std::size_t after_point = 0;
};

std::size_t digits_after_point(std::string_view text) {
  const auto point = text.find('.');
  if (point == std::string_view::npos) return 0;
  return text.size() - point;  // counts the point itself
}

std::string aligned(std::string_view text, const Column& column) {
  const auto width = display_width(text);
  const std::string padding(column.width - std::min(column.width, width), ' ');
  return column.numeric ? padding + std::string(text) : std::string(text) + padding;
}

// `cells` beside each other, each of which may have lines.
void write_row(const std::vector<std::string>& cells, const std::vector<Column>& columns, std::string& out) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (const auto& cell : cells) {
    lines.push_back(split(cell, '\n'));
    height = std::max(height, lines.back().size());
  }
  for (std::size_t i = 0; i < height; ++i) {
    std::string row;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) row += '|';
      row += ' ' + aligned(i < lines[c].size() ? lines[c][i] : std::string(), columns[c]) + ' ';
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + '\n';
  }
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// Whole, for a program reads it: no digit is left out.
std::string csv_text(const json::value& cell) {
  if (cell.is_double() && std::isfinite(cell.get_double())) return fmt::format("{}", cell.get_double());
  return cell_text(cell);
}

}  // namespace

void Table::add(std::vector<json::value> cells) {
  DET_ASSERT(cells.size() == headers_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<Column> columns(headers_.size());
  std::vector<std::vector<std::string>> shown;
  for (const auto& row : rows_) {
    auto& cells = shown.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) {
      cells.push_back(cell_text(row[c]));
      if (!row[c].is_number() && !row[c].is_null()) columns[c].numeric = false;
    }
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    auto& column = columns[c];
    column.numeric = column.numeric && std::any_of(rows_.begin(), rows_.end(),
                                                   [&](const auto& row) { return row[c].is_number(); });
    if (column.numeric) {
      for (const auto& row : shown)
        column.after_point = std::max(column.after_point, digits_after_point(row[c]));
      for (auto& row : shown)
        if (!row[c].empty()) row[c].append(column.after_point - digits_after_point(row[c]), ' ');
    }
    for (const auto& line : split(headers_[c], '\n'))
      column.width = std::max(column.width, display_width(line) + kHeaderPadding);
    for (const auto& row : shown)
      for (const auto& line : split(row[c], '\n')) column.width = std::max(column.width, display_width(line));
  }
  std::string out;
  write_row(headers_, columns, out);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) out += '+';
    out.append(columns[c].width + 2, '-');
  }
  out += '\n';
  for (const auto& row : shown) write_row(row, columns, out);
  return out;
}

std::string Table::csv() const {
  std::string out;
  const auto write = [&](const auto& cells, auto text) {
    for (std::size_t c = 0; c < cells.size(); ++c) out += (c > 0 ? "," : "") + csv_field(text(cells[c]));
    out += "\r\n";
  };
  write(headers_, [](const std::string& header) { return header; });
  for (const auto& row : rows_) write(row, csv_text);
  return out;
}

}  // namespace det::cli
