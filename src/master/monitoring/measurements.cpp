#include "det/master/monitoring/measurements.h"

namespace det::master {
namespace {

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void Measurements::watch(Ledger& ledger, http::Router& router) {
  // Those that had their slots before the start were counted by the master of then.
  for (const auto& [id, allocation] : ledger.cluster().allocations())
    if (!allocation.record.shares.empty()) placed_.insert(id);
  ledger.on_commit([this](std::vector<store::Change>& changes) {
    count(changes);
    return std::function<void()>();
  });
  ledger.on_durable([this](std::chrono::steady_clock::duration took) { commits_.add(seconds(took)); });
  router.measure([this](std::string_view verb, std::string_view route, int status,
                        std::chrono::steady_clock::duration took) {
    const std::string method(verb), path(route.empty() ? "none" : route);
    requests_[{method, path}].add(seconds(took));
    ++answers_[{method, path, status}];
  });
}

void Measurements::count(const std::vector<store::Change>& changes) {
  const auto lines = [this](const std::vector<experiment::LogRecord>& of) {
    ingested_.log_lines += static_cast<std::int64_t>(of.size());
    for (const auto& line : of) ingested_.log_bytes += static_cast<std::int64_t>(line.log.size());
  };
  for (const auto& change : changes) {
    if (const auto* logs = std::get_if<store::AddLogs>(&*change)) {
      lines(logs->lines);
    } else if (const auto* own = std::get_if<store::AddOwnLogs>(&*change)) {
      lines(own->lines);
    } else if (const auto* metrics = std::get_if<store::AddMetrics>(&*change)) {
      ++ingested_.metric_reports;
      ingested_.metric_values += static_cast<std::int64_t>(metrics->record.avg_metrics.size());
    } else if (std::holds_alternative<store::AppendEvent>(*change)) {
      ++ingested_.events;
    } else if (const auto* put = std::get_if<store::PutAllocation>(&*change)) {
      count(put->record);
    }
  }
}

void Measurements::count(const experiment::AllocationRecord& allocation) {
  if (allocation.state == experiment::AllocationState::Terminated)
    placed_.erase(allocation.id);
  else if (!allocation.shares.empty() && allocation.start_time && placed_.insert(allocation.id).second)
    waits_.add(static_cast<double>(*allocation.start_time - allocation.requested) / kSecond);
}

}  // namespace det::master
