#include "det/cli/follow/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "det/cli/output/console.h"

namespace det::cli {
namespace {

/// What an axis shows. Of one value only, some space around it.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  bool empty() const { return low > high; }
  void add(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  void widen() {
    if (low < high) return;
    const double around = low == 0 ? 1 : std::abs(low) / 2;
    low -= around;
    high += around;
  }
  /// The dot of `v` among `dots`.
  int dot(double v, int dots) const {
    const double part = (v - low) / (high - low);
    return std::clamp(static_cast<int>(std::lround(part * (dots - 1))), 0, dots - 1);
  }
};

struct Cell {
  unsigned dots = 0;
  std::size_t curve = 0;
};

/// Dots, two by four a character, from the lower left corner.
class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns),
        rows_(rows),
        cells_(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)) {}

  int width() const { return 2 * columns_; }
  int height() const { return 4 * rows_; }

  void set(int x, int y, std::size_t curve) {
    // The bits of Unicode's Braille patterns, from the lowest dot up.
    static constexpr unsigned kBits[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
    auto& cell = cells_[static_cast<std::size_t>((rows_ - 1 - y / 4) * columns_ + x / 2)];
    cell.dots |= kBits[x % 2][y % 4];
    cell.curve = curve;
  }

  void draw_line(int x0, int y0, int x1, int y1, std::size_t curve) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) set(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, curve);
  }

  std::string row(int row, bool colours) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const auto& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
      const auto character = cell.dots == 0 ? std::string(" ") : braille(cell.dots);
      text += colours && cell.dots != 0 ? curve_colour(cell.curve, character) : character;
    }
    return text;
  }

 private:
  static std::string braille(unsigned dots) {  // U+2800 and the dots, as UTF-8
    return {'\xe2', static_cast<char>(0xa0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3f))};
  }

  int columns_, rows_;
  std::vector<Cell> cells_;
};

}  // namespace

std::string curve_colour(std::size_t curve, const std::string& text) {
  static constexpr int kColours[] = {36, 33, 35, 32, 34, 31};
  return fmt::format("\x1b[{}m{}\x1b[0m", kColours[curve % std::size(kColours)], text);
}

std::vector<std::string> draw_curves(const std::vector<PlotCurve>& curves, PlotSize size, bool colours) {
  Range x, y;
  for (const auto& curve : curves)
    for (const auto& [at, value] : curve)
      if (std::isfinite(value)) {
        x.add(at);
        y.add(value);
      }
  if (y.empty()) return {};
  const auto bottom = fmt::format("{:.4g}", y.low), top = fmt::format("{:.4g}", y.high);
  const auto first = fmt::format("{:.9g}", x.low), last = fmt::format("{:.9g}", x.high);
  y.widen();
  if (x.low == x.high) x.widen();
  const auto margin = std::max(bottom.size(), top.size());
  Canvas canvas(std::max(8, size.columns - static_cast<int>(margin) - 2), std::max(2, size.rows - 2));
  for (std::size_t number = 0; number < curves.size(); ++number) {
    std::optional<std::pair<int, int>> before;
    for (const auto& [at, value] : curves[number]) {
      if (!std::isfinite(value)) {
        before.reset();
        continue;
      }
      const std::pair here{x.dot(at, canvas.width()), y.dot(value, canvas.height())};
      const auto from = before.value_or(here);
      canvas.draw_line(from.first, from.second, here.first, here.second, number);
      before = here;
    }
  }
  std::vector<std::string> lines;
  const int rows = canvas.height() / 4;
  const auto columns = static_cast<std::size_t>(canvas.width()) / 2;
  for (int row = 0; row < rows; ++row) {
    const auto& label = row == 0 ? top : row == rows - 1 ? bottom : std::string();
    lines.push_back(
        fmt::format("{:>{}} {}{}", label, margin, label.empty() ? "│" : "┤", canvas.row(row, colours)));
  }
  std::string axis;
  for (std::size_t i = 0; i < columns; ++i) axis += "─";
  lines.push_back(fmt::format("{:>{}} └{}", "", margin, axis));
  lines.push_back(fmt::format("{:>{}}  {}{:>{}}", "", margin, first, last,
                              columns > first.size() ? columns - first.size() : 0));
  return lines;
}

}  // namespace det::cli
