#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "det/cluster/events.h"
#include "det/config/experiment_config.h"
#include "det/experiment/experiment.h"

/// What the reports of a trial mean, without I/O: which are refused, and what the search learns from them.
namespace det::master {

struct ReportedMetrics {
  json::object avg_metrics;
  json::array batch_metrics;
  std::int64_t num_inputs = 0;  ///< ours: records, over all slots
  static bool required(std::string_view name) { return name == "avg_metrics"; }
};
BOOST_DESCRIBE_STRUCT(ReportedMetrics, (), (avg_metrics, batch_metrics, num_inputs))
struct TrialMetrics {
  TrialId trial_id;
  std::int32_t trial_run_id = 0;
  std::optional<std::int64_t> steps_completed;  ///< none: 0, or of a measurement in time, see has_steps
  std::optional<Time> report_time;
  ReportedMetrics metrics;
  static bool required(std::string_view name) { return name == "metrics"; }
};
BOOST_DESCRIBE_STRUCT(TrialMetrics, (), (trial_id, trial_run_id, steps_completed, report_time, metrics))
/// POST /api/v1/trials/{trialId}/metrics
struct MetricsRequest {
  TrialId trial_id;
  std::string group;
  TrialMetrics metrics;
  static bool required(std::string_view name) { return name == "group" || name == "metrics"; }
};
BOOST_DESCRIBE_STRUCT(MetricsRequest, (), (trial_id, group, metrics))

/// The trial in the body, where there is one, is that of the path.
Result<void> check_reported_trial(const MetricsRequest& request);

/// Whether the report says how far the trial was. Others, such as the profiler's, are placed in time: their
/// number of batches is the time in seconds since 1970.
bool has_steps(const MetricsRequest& request);

/// The report as it is kept; its run is the one that it names, 0 if it names none.
Result<experiment::MetricRecord> read_report(MetricsRequest request, Time now);

/// Only the newest run of a trial reports. `running`: whether that run has a live allocation.
Result<void> check_reported_run(const experiment::MetricRecord& report, std::int64_t newest, bool running);

/// What a report tells the cluster: training says how far the trial is, validation has the searcher metric.
/// None for other groups. A validation without the metric is refused where the search would wait for it for
/// ever: with every searcher but `single`. `hears_validations`: see experiment::Experiment.
Result<std::optional<cluster::Event>> report_event(const std::string& allocation,
                                                   const experiment::MetricRecord& report,
                                                   const config::Searcher& searcher, bool hears_validations);

/// The event of a completed searcher operation. NaN is refused, because no search can compare it.
Result<cluster::Event> completion_event(const std::string& allocation, TrialId trial, std::int64_t length,
                                        double searcher_metric);

/// The event of a trial that ends early, for a reason as the API names it.
Result<cluster::Event> early_exit_event(const std::string& allocation, const std::string& reason,
                                        const std::string& message);

/// What an unmanaged trial that ends early says of its error; none where the reason is no error, which is no
/// news, because no search waits for it.
std::optional<std::string> unmanaged_error(const std::string& reason, const std::string& message);

/// Progress is from 0 to 1; `bounded` false: from 0.
Result<void> check_progress(double progress, bool bounded);

/// The best searcher metric of the trials; none where no trial has one but NaN.
std::optional<double> best_searcher_metric(const std::map<TrialId, experiment::Trial>& trials,
                                           bool smaller_is_better);

/// Batches of the newest report of each group, by allocation.
using NewestReports = std::map<std::string, std::map<std::string, std::int64_t>>;

/// Whether the report is known to be newer than all others of its group, so that it cannot contradict one.
bool goes_forward(const NewestReports& newest, const std::string& allocation,
                  const experiment::MetricRecord& report);
void note_newest(NewestReports& newest, const std::string& allocation,
                 const experiment::MetricRecord& report);

}  // namespace det::master
