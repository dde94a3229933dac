#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "det/store/import/mapping.h"
#include "det/store/import/source.h"
#include "det/store/import/target.h"

namespace det::store {

/// What the target has of one kind of named records, while more come.
struct NamedHere {
  std::map<std::int64_t, std::string> names;
  std::map<std::string, std::int64_t> ids;
  std::int64_t built_in = 0;  ///< up to this id a master makes them when it starts: the source's replace them
  std::set<std::int64_t> taken;  ///< ids of the source that are the same record here

  void add(std::int64_t id, const std::string& name);
  /// `name`, or with the id, if another one here has it.
  std::string free_name(const std::string& name, std::int64_t id) const;
};

/// The steps of an import, in their order. Each reads tables of the source, and puts what it makes of them.
class Importer {
 public:
  Importer(SourceDatabase& source, ImportTarget& target) : source_(source), target_(target) {}

  void run();
  std::int64_t metrics() const { return metrics_; }  ///< imported
  double metric_seconds() const { return metric_seconds_; }

 private:
  void attempt(std::string_view what, void (Importer::*step)());
  // import_places.cpp
  void users();
  void groups();
  void roles();
  void workspaces();
  void projects();
  void pins();
  void templates();
  void policies();
  void webhooks();
  void sources_left_out();
  // import_experiments.cpp
  void experiments();
  void experiment(const SourceRow& row);
  void give_place(ExperimentRecord& record);
  void trials_left_out();
  std::vector<SourceRow> trial_rows(std::int64_t experiment);
  std::map<std::int64_t, std::vector<std::string>> tasks_of(std::int64_t experiment);
  std::vector<Change> model_definition(const MappedExperiment& mapped);
  std::vector<SourceRow> allocation_rows(std::int64_t experiment);
  // import_reports.cpp
  void metrics_of_trials();
  struct MetricTable {
    std::string table, group;  // `group`: an expression
  };
  std::vector<MetricTable> metric_tables() const;
  void metric_table(const MetricTable& table);
  class LogGroup;
  std::string log_columns(std::string_view table, std::string_view text) const;
  void task_logs();
  void trial_logs();
  // import_models.cpp
  void checkpoints();
  void checkpoints_of(std::int64_t experiment, const std::string& metric);
  /// Checkpoints of releases before 0.18 have a table of their own until the original moves them.
  bool has_first_checkpoints() const;
  std::string select_first_checkpoints(std::int64_t experiment) const;
  void models();
  void model_versions();

  /// One record for one row: `make` gives the changes; none: it was left out. With `here`, nothing that the
  /// master here has made is replaced.
  template <class Make>
  void simple(std::string_view what, const std::string& select, std::string_view id, Make make,
              NamedHere* here = nullptr);
  /// The name it gets here, if another one has its own.
  void make_unique(std::string_view what, std::string& name, std::int64_t id, NamedHere& here);
  /// Of someone who was not imported: the administrator's.
  void give_owner(std::string_view what, UserId& owner, const std::string& example);

  SourceDatabase& source_;
  ImportTarget& target_;
  NamedHere users_, groups_, workspaces_, projects_;
  std::map<std::int64_t, std::string> experiments_;        // taken, with their searcher's metric
  std::unordered_map<std::int64_t, std::int64_t> trials_;  // of those -> experiment
  std::unordered_map<std::string, std::string> tasks_;     // of those -> the trial's first task
  std::unordered_map<std::int64_t, std::string> task_of_;  // trial -> its first task
  std::unordered_map<std::string, std::string> definitions_;
  std::set<std::string> checkpoints_;  // uuids
  std::set<std::int64_t> models_;      // taken
  std::int64_t metrics_ = 0;
  std::atomic<std::int64_t> contradictions_ = 0;  // told by the store's writer
  double metric_seconds_ = 0;
};

template <class Make>
void Importer::simple(std::string_view what, const std::string& select, std::string_view id, Make make,
                      NamedHere* here) {
  std::vector<SourceRow> rows;
  source_.each_row(select, [&](SourceRow row) { rows.push_back(std::move(row)); });
  std::int64_t done = 0;
  for (const auto& row : rows) {
    SourceDigest digest;
    digest.add(row);
    const auto key = row.text(id);
    target_.progress(what, ++done, static_cast<std::int64_t>(rows.size()));
    const auto mark = target_.mark(what, key);
    const auto number = row.integer(id).value_or(0);
    if (here != nullptr && !mark && number > here->built_in && here->names.contains(number)) {
      target_.left_out(what, "the master here has given its id to another one", key);
      continue;
    }
    if (here != nullptr) here->taken.insert(number);
    if (mark == digest.text()) {
      target_.unchanged(what);
      continue;
    }
    std::vector<Change> changes = make(row);
    if (changes.empty()) continue;
    target_.put(what, key, digest.text(), std::move(changes));
    target_.imported(what);
  }
}

}  // namespace det::store
