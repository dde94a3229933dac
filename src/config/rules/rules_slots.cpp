// A number of slots that may change.

#include "det/config/rules/rules.h"

namespace det::config {

namespace {

constexpr std::int64_t kMostSlots = 4096;

/// The range, where both ends are numbers that nobody has refused.
std::optional<SlotRange> range_of(const Subject& subject) {
  const auto path = Path{} / "resources" / "slots_per_trial";
  const auto fewest = subject.integer({"resources", "slots_per_trial", "min"});
  const auto most = subject.integer({"resources", "slots_per_trial", "max"});
  if (!fewest || !most || *fewest < 1 || subject.is_refused(path / "min") || subject.is_refused(path / "max"))
    return std::nullopt;
  return SlotRange{
      .min = *fewest,
      .max = *most,
      .keeps_global_batch = subject.text({"resources", "slots_per_trial", "batch"}) != "per_slot"};
}

}  // namespace

void check_slot_range(const Subject& subject) {
  const auto range = range_of(subject);
  if (!range) return;
  const auto path = Path{} / "resources" / "slots_per_trial" / "max";
  if (range->max < range->min)
    subject.report.add(path,
                       fmt::format("max must be >= min: {} is not at least {}", range->max, range->min));
  else if (range->max > kMostSlots)
    subject.report.add(
        path, fmt::format("max must be <= {}: {} is not at most {}", kMostSlots, range->max, kMostSlots));
}

void check_batch_of_range(const Subject& subject, std::int64_t smallest, bool fixed) {
  const auto range = range_of(subject);
  if (!range || range->max < range->min || range->max > kMostSlots) return;
  const auto path = Path{} / "hyperparameters" / "global_batch_size";
  if (range->keeps_global_batch) {
    if (!fixed) return;
    for (auto slots = range->min; slots <= range->max; ++slots)
      if (smallest % slots == 0) return;
    return subject.report.add(
        path,
        fmt::format(
            "must be divisible by a number of slots from {} to {}, because each slot gets an equal share "
            "of every batch: {} is not",
            range->min, range->max, smallest));
  }
  if (smallest < range->max || (fixed && smallest % range->max != 0))
    subject.report.add(
        path,
        fmt::format(
            "must be a multiple of resources.slots_per_trial.max, {}, because each slot keeps its share: "
            "{} is not",
            range->max, smallest));
}

}  // namespace det::config
