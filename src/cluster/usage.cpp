#include "det/cluster/usage.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace det::cluster {
namespace {

constexpr double kHour = 3600;  ///< in seconds

using Days = std::chrono::sys_days;

Days day_of(Time time) {
  return std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::microseconds>(std::chrono::microseconds(time.microseconds)));
}

Time start_of(Days day) {
  return {std::chrono::duration_cast<std::chrono::microseconds>(day.time_since_epoch()).count()};
}

std::string name_of(Days day, Period period) {
  const std::chrono::year_month_day date{day};
  const auto month =
      fmt::format("{:04}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()));
  return period == Period::Month ? month : fmt::format("{}-{:02}", month, static_cast<unsigned>(date.day()));
}

}  // namespace

Time end_of_period(Time time, Period period) {
  const auto day = day_of(time);
  if (period == Period::Day) return start_of(day + std::chrono::days(1));
  const std::chrono::year_month_day date{day};
  return start_of(Days{(date.year() / date.month() + std::chrono::months(1)) / 1});
}

std::int64_t slots_of(const experiment::AllocationRecord& allocation) {
  std::int64_t slots = 0;
  for (const auto& share : allocation.shares) slots += static_cast<std::int64_t>(share.slots.size());
  return slots;
}

double slot_hours(const experiment::AllocationRecord& allocation, Time now) {
  return static_cast<double>(experiment::slot_microseconds(allocation, now)) / kSecond / kHour;
}

double cost_of(const Usage& usage, Time now) {
  return slot_hours(usage.allocation, now) * usage.price;
}

std::vector<UsageRow> aggregate(const std::vector<Usage>& all, Time begin, Time end, Time now,
                                Period period) {
  struct Sum {
    double seconds = 0, cost = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;  // date, type, key
  for (const auto& usage : all) {
    const auto& allocation = usage.allocation;
    if (!allocation.start_time) continue;
    for (const auto& share : allocation.shares) {
      const auto over = allocation.end_time.value_or(now);
      for (const auto& [first, last] : experiment::used_times(share, *allocation.start_time, over)) {
        const auto until = std::min(last, end);
        for (auto at = std::max(first, begin); at < until;) {
          const auto day = day_of(at);
          const auto next = std::min(until, start_of(day + std::chrono::days(1)));
          const auto seconds =
              static_cast<double>(next - at) / kSecond * static_cast<double>(share.slots.size());
          const auto date = name_of(day, period);
          const auto add = [&](const char* type, const std::string& key) {
            auto& sum = sums[{date, type, key}];
            sum.seconds += seconds;
            sum.cost += seconds / kHour * usage.price;
          };
          add("total", "total");
          add("username", usage.username);
          add("resource_pool", usage.resource_pool);
          add("workspace", usage.workspace);
          add("agent", share.agent);
          for (const auto& label : usage.labels) add("experiment_label", label);
          at = next;
        }
      }
    }
  }
  std::vector<UsageRow> rows;
  for (const auto& [key, sum] : sums)
    rows.push_back({std::get<1>(key), std::get<2>(key), std::get<0>(key), sum.seconds, sum.cost});
  return rows;
}

}  // namespace det::cluster
