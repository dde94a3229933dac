#pragma once

#include <optional>

#include "det/pytorch/engine/collector.h"
#include "det/pytorch/engine/context_parts.h"
#include "det/pytorch/ranks/ranks.h"
#include "det/pytorch/reducer.h"
#include "det/pytorch/value.h"

/// What the ranks of a trial tell each other besides gradients: metrics, and their part of a checkpoint.
namespace det::pytorch {

/// The metrics of each batch, averaged over ranks. Other names on some rank: UsageError.
std::vector<std::vector<double>> mean_over_ranks(const Collector& mine, Ranks& ranks);

/// The metrics of a validation from what each rank reduced over its `batches`.
Numbers reduce_over_ranks(const Numbers& mine, const std::vector<Reducer>& reducers, std::int64_t batches,
                          Ranks& ranks);

/// Rank 0's, on every rank; it may take its time.
std::optional<Numbers> announce(const std::optional<Numbers>& metrics, Ranks& ranks);

/// Of each reducer what this rank has gathered becomes what all have, by rank.
void gather_slots(std::vector<std::vector<std::vector<double>>>& by_reducer, Ranks& ranks);

/// For rank 0: what the checkpoint holds for each other rank. Parameters that differ between ranks:
/// UsageError, for an optimizer was stepped without the exchange.
List gather_states(const TrialContext::Parts& parts, const Dict& mine, Ranks& ranks);

}  // namespace det::pytorch
