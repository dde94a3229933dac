#include "det/cli/follow/progress.h"

#include "det/cli/output/format.h"

namespace det::cli {

std::optional<std::int64_t> length_in_batches(const json::value& experiment) {
  const auto& searcher = at(experiment, "config.searcher");
  const auto& length = at(searcher, "max_length");
  if (length.is_number()) return json::to_int64(length);
  if (const auto batches = json::to_int64(at(length, "batches"))) return batches;
  const auto scheduling_unit = json::to_int64(at(experiment, "config.scheduling_unit")).value_or(100);
  for (const auto* name : {"max_steps", "target_trial_steps"})
    if (const auto steps = json::to_int64(at(searcher, name))) return *steps * scheduling_unit;
  return std::nullopt;
}

std::string metric_text(const json::value& metric) {
  const auto number = json::to_double(metric);
  return number ? fmt::format("{:.4g}", *number) : cell_text(metric);
}

std::string ProgressMeter::line(double now_seconds, const json::value& experiment, const json::value& trial) {
  auto text = fmt::format("Trial {}  {}", integer_at(trial, "id"), cell_text(state_cell(at(trial, "state"))));
  const auto batches = integer_at(trial, "totalBatchesProcessed");
  const auto length = length_in_batches(experiment);
  if (length && *length > 0)
    text += fmt::format("  {}/{} batches ({:.1f}%)", batches, *length,
                        100.0 * static_cast<double>(batches) / static_cast<double>(*length));
  else
    text += fmt::format("  {} batches", batches);

  const auto& losses = at(trial, "summaryMetrics.avg_metrics");
  if (const auto& loss = at(at(losses, "loss"), "last"); !loss.is_null())
    text += "  loss " + metric_text(loss);
  auto metric = text_at(experiment, "searcherMetric");
  if (metric.empty()) metric = text_at(experiment, "config.searcher.metric");
  const auto& validation = at(trial, "latestValidation.metrics.avgMetrics");
  if (validation.is_object())
    if (const auto* value = validation.get_object().if_contains(metric))
      text += fmt::format("  {} {}", metric, metric_text(*value));

  const auto done = static_cast<double>(batches);
  if (!first_ || done < first_->batches) first_ = Sample{now_seconds, done};
  const double seconds = now_seconds - first_->seconds;
  if (length && done > first_->batches && batches < *length && seconds > 0)
    text +=
        "  ETA " + duration_text((static_cast<double>(*length) - done) * seconds / (done - first_->batches));
  return text;
}

}  // namespace det::cli
