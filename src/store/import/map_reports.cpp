#include <algorithm>
#include <array>
#include <limits>

#include "det/store/import/mapping.h"
#include "det/store/postgres/postgres_text.h"

namespace det::store {

namespace {

constexpr std::array<std::string_view, 6> kLevels{"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

}  // namespace

bool read_metrics_document(std::string_view text, MetricRecord& record) {
  auto parsed = json::parse(text);
  if (!parsed) parsed = json::parse(storable_text(text));  // from a database without an encoding
  if (!parsed || !parsed->is_object()) return false;
  restore_numbers(*parsed);
  auto& document = parsed->get_object();
  if (const auto* inputs = document.if_contains("num_inputs"))
    record.records = std::max<std::int64_t>(0, json::to_int64(*inputs).value_or(0));
  if (auto* batches = document.if_contains("batch_metrics"); batches != nullptr && batches->is_array())
    record.batch_metrics = std::move(batches->get_array());
  bool named = false;
  for (const char* name : {"validation_metrics", "avg_metrics"})
    if (auto* averages = document.if_contains(name); averages != nullptr && !named) {
      named = true;
      if (!averages->is_object() && !averages->is_null()) return false;
      if (averages->is_object()) record.avg_metrics = std::move(averages->get_object());
    }
  if (!named) {
    for (const char* other : {"batch_metrics", "num_inputs"}) document.erase(other);
    record.avg_metrics = std::move(document);
  }
  return true;
}

std::int64_t batches_of(std::optional<std::int64_t> steps, std::string_view group, Time time) {
  if (steps) return *steps;
  if (group == "training" || group == "validation") return 0;
  return std::clamp<std::int64_t>(time.microseconds / kSecond, 0, std::numeric_limits<std::int32_t>::max());
}

void clean_log_line(LogRecord& line) {
  if (std::find(kLevels.begin(), kLevels.end(), line.level) == kLevels.end()) line.level.clear();
  if (line.rank < 0) line.rank.reset();
  if (line.log.ends_with('\n')) line.log.pop_back();
  if (line.log.ends_with('\r')) line.log.pop_back();
}

}  // namespace det::store
