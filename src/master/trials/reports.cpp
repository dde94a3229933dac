#include "det/master/trials/reports.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "det/master/objects.h"

namespace det::master {
namespace {

constexpr std::size_t kEarlyExitMessageMax = 4000;

/// The searcher's metric in a validation.
Result<double> validation_metric(const experiment::MetricRecord& validation, const std::string& name) {
  const auto* value = validation.avg_metrics.if_contains(name);
  const auto number = value == nullptr ? std::nullopt : json::to_double(*value);
  if (number) return *number;
  if (value != nullptr)
    return invalid_argument(
        "searcher metric '{}' is {} in the validation after {} batches; it must be a number", name,
        json::serialize(*value), validation.batches);
  std::vector<std::string> names;
  for (const auto& [other, _] : validation.avg_metrics) names.emplace_back(other);
  return invalid_argument(
      "searcher metric '{1}' is missing from the validation after {0} batches; reported metrics: {2}",
      validation.batches, name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

/// How far the trial is in what `searcher.max_time` counts.
Result<std::optional<double>> validation_time(const experiment::MetricRecord& validation,
                                              const std::string& name) {
  const auto* value = validation.avg_metrics.if_contains(name);
  const auto time = value == nullptr ? std::nullopt : json::to_double(*value);
  if (time && std::isfinite(*time)) return time;
  if (value == nullptr && name == "batches") return static_cast<double>(validation.batches);
  if (value == nullptr && (name == "epochs" || name == "records")) return std::optional<double>();
  return invalid_argument(
      "searcher.time_metric '{}' {} the metrics of this validation; each validation must report it as a "
      "number, because searcher.max_time counts it",
      name, value == nullptr ? "is not among" : "is not a finite number in");
}

Result<std::optional<cluster::Event>> validation_event(const std::string& allocation,
                                                       const experiment::MetricRecord& report,
                                                       const config::Searcher& searcher,
                                                       bool hears_validations) {
  auto metric = validation_metric(report, searcher.metric);
  if (metric) {
    std::optional<double> time;
    if (hears_validations) {
      DET_TRY(time, validation_time(report, searcher.time_metric));
    }
    return cluster::ValidationReported{allocation, report.batches, *metric, time};
  }
  // Nothing is decided by it, so a trial may also report other validations.
  if (searcher.name == "single" && !report.avg_metrics.contains(searcher.metric))
    return cluster::TrialProgressed{allocation, report.batches, ""};
  return tl::unexpected(std::move(metric).error());
}

std::optional<search::ExitedReason> exited_reason(const std::string& name) {
  if (name == "EXITED_REASON_INVALID_HP") return search::ExitedReason::InvalidHp;
  if (name == "EXITED_REASON_INIT_INVALID_HP") return search::ExitedReason::InitInvalidHp;
  if (name == "EXITED_REASON_USER_REQUESTED_STOP") return search::ExitedReason::UserRequestedStop;
  if (name == "EXITED_REASON_ERRORED") return search::ExitedReason::Errored;
  return std::nullopt;
}

}  // namespace

Result<void> check_reported_trial(const MetricsRequest& request) {
  const auto said = request.metrics.trial_id;
  if (!said || said == request.trial_id) return {};
  return invalid_argument("metrics.trialId is {}, but the path names trial {}; they must be equal", said,
                          request.trial_id);
}

bool has_steps(const MetricsRequest& request) {
  return request.metrics.steps_completed || request.group == "training" || request.group == "validation";
}

Result<experiment::MetricRecord> read_report(MetricsRequest request, Time now) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (request.group.empty() || request.group.size() > 256 || request.group.find('.') != std::string::npos)
    return invalid_argument("group is '{}'; the name of a metric group must have 1 to 256 bytes and no dot",
                            request.group);
  const auto time = request.metrics.report_time.value_or(now);
  const auto batches = request.metrics.steps_completed.value_or(
      has_steps(request) ? 0 : std::clamp<std::int64_t>(time.microseconds / kSecond, 0, kMost));
  if (batches < 0) return invalid_argument("stepsCompleted is {}; it cannot be negative", batches);
  if (batches > kMost) return invalid_argument("stepsCompleted is {}; it must be at most {}", batches, kMost);
  if (const auto inputs = request.metrics.metrics.num_inputs; inputs < 0 || inputs > kMost)
    return invalid_argument("numInputs is {}; it must be from 0 to 2147483647", inputs);
  return experiment::MetricRecord{.trial_id = request.trial_id,
                                  .run_id = request.metrics.trial_run_id,
                                  .group = std::move(request.group),
                                  .batches = batches,
                                  .avg_metrics = std::move(request.metrics.metrics.avg_metrics),
                                  .batch_metrics = std::move(request.metrics.metrics.batch_metrics),
                                  .records = request.metrics.metrics.num_inputs,
                                  .report_time = time};
}

Result<void> check_reported_run(const experiment::MetricRecord& report, std::int64_t newest, bool running) {
  if (report.run_id == 0 || report.run_id == newest) return {};
  if (running)
    return fail(ErrorCode::AlreadyExists, "run {} of trial {} cannot report: run {} has replaced it",
                report.run_id, report.trial_id, newest);
  return fail(ErrorCode::AlreadyExists, "run {} of trial {} cannot report: its newest run is {}",
              report.run_id, report.trial_id, newest);
}

Result<std::optional<cluster::Event>> report_event(const std::string& allocation,
                                                   const experiment::MetricRecord& report,
                                                   const config::Searcher& searcher, bool hears_validations) {
  if (report.group == "training") return cluster::TrialProgressed{allocation, report.batches, ""};
  if (report.group == "validation") return validation_event(allocation, report, searcher, hears_validations);
  return std::nullopt;
}

Result<cluster::Event> completion_event(const std::string& allocation, TrialId trial, std::int64_t length,
                                        double searcher_metric) {
  if (std::isnan(searcher_metric))
    return invalid_argument(
        "searcherMetric of trial {} at length {} is NaN, which the search cannot compare; the trial must "
        "fail",
        trial, length);
  return cluster::OperationCompleted{allocation, length, searcher_metric};
}

Result<cluster::Event> early_exit_event(const std::string& allocation, const std::string& reason,
                                        const std::string& message) {
  const auto exited = exited_reason(reason);
  if (!exited)
    return invalid_argument(
        "reason is '{}'; it must be EXITED_REASON_INVALID_HP, EXITED_REASON_INIT_INVALID_HP, "
        "EXITED_REASON_USER_REQUESTED_STOP or EXITED_REASON_ERRORED",
        reason);
  const bool errored = *exited == search::ExitedReason::Errored;
  return cluster::EarlyExitReported{allocation, *exited,
                                    errored ? message.substr(0, kEarlyExitMessageMax) : ""};
}

std::optional<std::string> unmanaged_error(const std::string& reason, const std::string& message) {
  if (exited_reason(reason) != search::ExitedReason::Errored) return std::nullopt;
  return message.substr(0, kEarlyExitMessageMax);
}

Result<void> check_progress(double progress, bool bounded) {
  if (std::isfinite(progress) && progress >= 0 && (!bounded || progress <= 1)) return {};
  return invalid_argument("progress is {}; it must be from 0 to 1", progress);
}

std::optional<double> best_searcher_metric(const std::map<TrialId, experiment::Trial>& trials,
                                           bool smaller_is_better) {
  std::optional<double> best;
  for (const auto& [id, trial] : trials) {
    const auto& metric = trial.record.best_metric;
    if (metric && !std::isnan(*metric) && (!best || better(*metric, *best, smaller_is_better))) best = metric;
  }
  return best;
}

bool goes_forward(const NewestReports& newest, const std::string& allocation,
                  const experiment::MetricRecord& report) {
  const auto groups = newest.find(allocation);
  if (groups == newest.end()) return false;
  const auto batches = groups->second.find(report.group);
  return batches != groups->second.end() && report.batches > batches->second;
}

void note_newest(NewestReports& newest, const std::string& allocation,
                 const experiment::MetricRecord& report) {
  constexpr std::size_t kGroupsMax = 256;  // those beyond are compared with what is stored, each time
  auto& groups = newest[allocation];
  if (groups.size() >= kGroupsMax && !groups.contains(report.group)) return;
  auto& batches = groups[report.group];
  batches = std::max(batches, report.batches);
}

}  // namespace det::master
