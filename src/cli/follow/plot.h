#pragma once

#include <string>
#include <utility>
#include <vector>

namespace det::cli {

/// Points of a curve, ascending by x. What is no finite number leaves a gap.
using PlotCurve = std::vector<std::pair<double, double>>;

struct PlotSize {
  int columns = 80, rows = 12;
};

/// Curves as lines of text, drawn with Braille dots, two by four a character, with the range of both axes:
///
///     0.91 ┤⡇
///          │⢣⣀
///     0.05 ┤  ⠉⠒⠒⠒
///          └──────
///           0    100
///
/// With `colours` each curve has one of `curve_colour`; of several in one character the last one's.
std::vector<std::string> draw_curves(const std::vector<PlotCurve>& curves, PlotSize size, bool colours);

/// `text` in the colour of curve number `curve`, as terminals are told.
std::string curve_colour(std::size_t curve, const std::string& text);

}  // namespace det::cli
