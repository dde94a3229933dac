#pragma once

#include <string>

#include "det/base/json.h"

namespace det::cli {

/// What `det experiment watch` shows at a moment.
struct Watched {
  json::value experiment;  ///< the API's
  json::array trials;
  json::array series;  ///< of GET /api/v1/trials/time-series, of those whose curves are drawn
  std::string metric;  ///< whose curves
};

struct WatchScreen {
  int columns = 80, rows = 24;
  bool colours = false;
};

/// The trials whose curves are drawn, at most `most`: the best by the searcher's metric, else those that
/// trained furthest.
json::array trials_to_draw(const json::value& experiment, json::array trials, std::size_t most);

/// The whole screen: a line about the experiment, curves, a line a trial.
std::string watch_text(const Watched& watched, const WatchScreen& screen);

}  // namespace det::cli
