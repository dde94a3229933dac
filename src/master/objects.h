#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/api/objects.h"
#include "det/master/services.h"

/// From rows of the store to objects of the API.
namespace det::master {

/// The name of a user, empty where there is none any more.
std::string username(Services& s, UserId id);
/// "STATE_RUNNING": Active is shown as QUEUED, STARTING or RUNNING by what its allocations do.
/// STATE_PAUSED, …
std::string name_of(experiment::State state);
/// Of a run: STATE_ACTIVE for what is queued, pulling, starting or running, as the original tells runs.
std::string run_state(const std::string& state);
std::string state_name(Services& s, const experiment::ExperimentRecord& record);
std::string state_name(Services& s, const store::ExperimentSummary& record);
std::string state_name(Services& s, const experiment::TrialRecord& record);
std::string state_name(experiment::CheckpointState state);
/// States whose names a query gives; several of them mean Active, and STATE_UNSPECIFIED is no condition.
Result<std::vector<experiment::State>> parse_states(const std::vector<std::string>& names);

api::Experiment to_api(Services& s, const experiment::ExperimentRecord& record);
api::Experiment to_api(Services& s, const store::ExperimentSummary& record);
api::User to_api(const store::UserRecord& record);
api::MetricsWorkload to_api(const experiment::MetricRecord& record, bool with_batches);
api::MetricsReport to_report(const experiment::MetricRecord& record);
api::CheckpointWorkload to_workload(const experiment::CheckpointRecord& record);

api::Trial to_api(const experiment::TrialRecord& record, const store::TrialOverview& overview);
/// A trial as the API shows it. Reads the store.
asio::awaitable<Result<api::Trial>> find_trial(Services& s, TrialId id);
/// The same of many, in this order.
asio::awaitable<std::vector<api::Trial>> find_trials(Services& s,
                                                     std::vector<experiment::TrialRecord> records);
/// A checkpoint with its trial and the reports at the same number of batches. Reads the store.
api::Checkpoint read_checkpoint(store::Store& store, const experiment::CheckpointRecord& record);
/// What a task may change: its own experiment's checkpoints. Users may change all.
Result<void> may_change(Services& s, const std::any& principal, const experiment::CheckpointRecord& record);
/// What of a trial only the strand knows: state, waiting reason, target. Call it on the strand.
void complete_trial(Services& s, const experiment::TrialRecord& record, api::Trial& trial);

using experiment::better;
/// searcher.metric and searcher.smaller_is_better of a configuration document.
struct SearcherMetric {
  std::string name;
  bool smaller_is_better = true;
};
SearcherMetric searcher_metric(const json::object& config);
/// The same, and those of searcher.metrics, which are optimized with it.
std::vector<SearcherMetric> searcher_metrics(const json::object& config);
std::optional<double> value_of(const experiment::MetricRecord& record, const std::string& metric);

std::vector<TrialId> trial_ids(const std::vector<experiment::TrialRecord>& trials);

/// Which part of `total` items a page is; negative offsets count from the end.
struct Span {
  std::size_t begin = 0, end = 0;
  api::Pagination pagination;
};
Span page_of(std::size_t total, std::int32_t offset, std::int32_t limit);

}  // namespace det::master
