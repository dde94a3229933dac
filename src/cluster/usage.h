#pragma once

#include <map>
#include <string>
#include <vector>

#include "det/experiment/records.h"

/// Who used how many slots for how long: sums over allocations, for reports. Pure.
namespace det::cluster {

/// An allocation and what of its experiment reports name.
struct Usage {
  experiment::AllocationRecord allocation;
  std::string username, resource_pool, workspace;
  std::vector<std::string> labels;  ///< of the experiment
  std::string kind = "trial";       ///< or "command", "notebook", …
  double price = 0;                 ///< of a slot for an hour
};

enum class Period { Day, Month };

/// Slot-seconds of one group in one period, and what they cost.
struct UsageRow {
  std::string aggregation_type;  ///< "total", "username", "experiment_label", "resource_pool", "agent"
  std::string aggregation_key;
  std::string date;  ///< "2026-11-22" or "2026-11", UTC
  double seconds = 0;
  double cost = 0;
};

/// What was used from `begin` to `end`, ascending by date, kind and key. An allocation that still runs counts
/// until `now`; one that crosses midnight counts on both days; one with two labels counts for both.
std::vector<UsageRow> aggregate(const std::vector<Usage>& all, Time begin, Time end, Time now, Period period);

/// The first moment after the day or month of `time`, UTC.
Time end_of_period(Time time, Period period);

/// The slots that an allocation held until `now`, times the hours.
double slot_hours(const experiment::AllocationRecord& allocation, Time now);

/// What the slots of an allocation cost until `now`.
double cost_of(const Usage& usage, Time now);

/// The slots that an allocation holds or held, all agents together.
std::int64_t slots_of(const experiment::AllocationRecord& allocation);

}  // namespace det::cluster
