#include "det/master/experiments/experiment_rules.h"

#include <set>

namespace det::master {

std::vector<std::string> with_label(const std::vector<std::string>& labels, const std::string& label) {
  std::set<std::string> changed(labels.begin(), labels.end());
  changed.insert(label);
  return {changed.begin(), changed.end()};
}

std::vector<std::string> without_label(const std::vector<std::string>& labels, const std::string& label) {
  std::set<std::string> changed(labels.begin(), labels.end());
  changed.erase(label);
  return {changed.begin(), changed.end()};
}

Result<void> check_bulk_size(std::string_view member, std::size_t size) {
  if (size <= kBulkMax) return {};
  return invalid_argument("{} has {} entries; at most {} are allowed in one call", member, size, kBulkMax);
}

std::optional<std::string> run_action(const std::string& experiment_action) {
  if (experiment_action == "kill" || experiment_action == "cancel") return std::nullopt;
  return experiment_action == "activate" ? "resume" : experiment_action;
}

Result<ExperimentId> experiment_of_run(TrialId id, const std::optional<experiment::TrialRecord>& trial,
                                       std::size_t runs) {
  if (!trial) return not_found("run '{}' not found", id);
  if (runs == 1) return trial->experiment_id;
  return failed_precondition(
      "run {} is one of {} runs of experiment {}; apply this action to the experiment instead", id, runs,
      trial->experiment_id);
}

}  // namespace det::master
