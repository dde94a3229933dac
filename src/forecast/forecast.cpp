#include "det/forecast/forecast.h"

#include <cmath>

#include "det/forecast/world.h"

namespace det::forecast {
namespace {

Result<void> check(const Question& question) {
  const auto& costs = question.costs;
  for (const auto& [name, value] : {std::pair{"seconds per batch", costs.seconds_per_batch},
                                    std::pair{"seconds to start", costs.start_seconds},
                                    std::pair{"seconds per validation", costs.validation_seconds},
                                    std::pair{"seconds per checkpoint", costs.checkpoint_seconds}})
    if (!(std::isfinite(value) && value >= 0 && value <= 1e6))
      return invalid_argument("the {} are {}; they must be from 0 to 1000000", name, value);
  for (const auto& curve : costs.curves)
    if (curve.empty()) return invalid_argument("a curve of results has no points; give at least one");
  if (question.experiments.empty())
    return invalid_argument("there is no experiment to simulate; give at least one");
  if (question.machines.empty())
    return invalid_argument("the simulated cluster has no agents; give at least one");
  for (const auto& machine : question.machines)
    if (machine.slots < 0 || machine.slots > 1024)
      return invalid_argument("agent {} has {} slots; it must have from 0 to 1024", machine.id,
                              machine.slots);
  for (const auto& config : question.experiments)
    if (config::decided_outside(config.searcher.name))
      return invalid_argument("searcher.name is {}; a search that a client decides cannot be simulated",
                              config.searcher.name);
  return {};
}

}  // namespace

Result<Forecast> forecast(const Question& question, std::function<bool()> give_up) {
  if (auto fine = check(question); !fine) return tl::unexpected(std::move(fine).error());
  return World(question).run(give_up);
}

}  // namespace det::forecast
