#include "det/cli/experiment/workloads.h"

#include <map>
#include <set>

#include "det/cli/output/format.h"

namespace det::cli {
namespace {

const json::value& metrics_of(const json::value& workload) {
  const auto& averages = at(workload, "metrics.avgMetrics");
  return averages.is_null() ? at(workload, "metrics.avg_metrics") : averages;
}

const json::value& member(const json::value& v, const std::string& name) {
  static const json::value null;
  const auto* found = v.is_object() ? v.get_object().if_contains(name) : nullptr;
  return found == nullptr ? null : *found;
}

// What an entry has done is done: only its checkpoint may be otherwise.
json::value done(const json::value& workload) {
  return workload.is_null() ? json::value(nullptr) : json::value("COMPLETED");
}

// Nothing where nobody counted: trials in C++, scripts, and those of older days.
json::value records_of(const json::value& workload) {
  const auto records = integer_at(workload, "numInputs");
  return records > 0 ? json::value(records) : json::value(nullptr);
}

}  // namespace

void WorkloadTable::add(std::int64_t trial_id, const json::array& workloads) {
  for (const auto& entry : workloads) {
    for (const auto* kind : {"training", "validation", "checkpoint"}) {
      const auto& workload = at(entry, kind);
      if (!workload.is_object()) continue;
      auto& row = rows_[{trial_id, integer_at(workload, "totalBatches")}];
      (kind[0] == 't' ? row.training : kind[0] == 'v' ? row.validation : row.checkpoint) = workload;
    }
  }
}

Table WorkloadTable::table(bool metrics, bool trial_ids) const {
  std::set<std::string> training_names, validation_names;
  if (metrics) {
    const auto collect = [](const json::value& values, std::set<std::string>& names) {
      if (values.is_object())
        for (const auto& member : values.get_object()) names.emplace(member.key());
    };
    for (const auto& [key, row] : rows_) {
      collect(metrics_of(row.training), training_names);
      collect(metrics_of(row.validation), validation_names);
    }
  }
  bool training_records = false, validation_records = false;
  for (const auto& [key, row] : rows_) {
    training_records = training_records || !records_of(row.training).is_null();
    validation_records = validation_records || !records_of(row.validation).is_null();
  }
  std::vector<std::string> headers;
  if (trial_ids) headers.push_back("Trial ID");
  headers.push_back("# of Batches");
  for (const auto* name : {"State", "Report Time"}) headers.push_back(name);
  for (const auto& name : training_names) headers.push_back("Training Metric: " + name);
  for (const auto* name :
       {"Checkpoint State", "Checkpoint Report Time", "Validation State", "Validation Report Time"})
    headers.push_back(name);
  for (const auto& name : validation_names) headers.push_back("Validation Metric: " + name);
  // What the original does not have comes last, for those who count columns.
  headers.push_back("Checkpoint UUID");
  if (training_records) headers.push_back("# of Records");
  if (validation_records) headers.push_back("# of Validation Records");

  Table table(headers);
  for (const auto& [key, row] : rows_) {
    std::vector<json::value> cells;
    if (trial_ids) cells.push_back(key.first);
    cells.push_back(key.second);
    cells.push_back(done(row.training));
    cells.push_back(time_cell(at(row.training, "endTime")));
    for (const auto& name : training_names) cells.push_back(member(metrics_of(row.training), name));
    cells.push_back(state_cell(at(row.checkpoint, "state")));
    cells.push_back(time_cell(at(row.checkpoint, "endTime")));
    cells.push_back(done(row.validation));
    cells.push_back(time_cell(at(row.validation, "endTime")));
    for (const auto& name : validation_names) cells.push_back(member(metrics_of(row.validation), name));
    cells.push_back(at(row.checkpoint, "uuid"));
    if (training_records) cells.push_back(records_of(row.training));
    if (validation_records) cells.push_back(records_of(row.validation));
    table.add(std::move(cells));
  }
  return table;
}

Result<json::array> fetch_workloads(Session& session, std::int64_t trial_id, const Paging& paging) {
  return fetch(session, fmt::format("/api/v1/trials/{}/workloads", trial_id), {}, "workloads", paging);
}

}  // namespace det::cli
