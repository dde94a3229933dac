#pragma once

#include "det/search/search_method.h"

namespace det::search {

/// Trials that do the same.
struct PreviewRow {
  std::int64_t trials = 0;
  /// Totals, in the searcher's unit, after which each of them validates; empty: trains to completion.
  std::vector<std::int64_t> lengths;
  friend bool operator==(const PreviewRow&, const PreviewRow&) = default;
};
BOOST_DESCRIBE_STRUCT(PreviewRow, (), (trials, lengths))

/// What a search would do (`det preview-search`, searchers.md §15).
struct Preview {
  std::vector<PreviewRow> rows;  ///< ascending by lengths
  std::int64_t trials = 0;       ///< created in total
  std::int64_t length = 0;       ///< trained in total, in the searcher's unit
  friend bool operator==(const Preview&, const Preview&) = default;
};
BOOST_DESCRIBE_STRUCT(Preview, (), (rows, trials, length))

/// Plays the search with random metrics, from the searcher's seed 0; `world_seed` decides
/// the metrics and which trial goes on next. Nothing runs. Checks on the way what every
/// search promises, and answers Internal with the promise that was broken.
///
/// Halving with `max_time` stops a trial by what came before it, so that a world of random metrics says
/// little; as in the original, the answer is what remains if of each rung one in `divisor` goes on: no world,
/// and a row for each length.
Result<Preview> preview(const config::ExperimentConfig& config, std::uint32_t world_seed = 0);

/// The same as the last release tells it: how many trials train how far, ascending. Those of single, random
/// and grid train to completion, whatever their length.
std::vector<PreviewRow> training_times(const config::ExperimentConfig& config, const Preview& preview);

}  // namespace det::search
