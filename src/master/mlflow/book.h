#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "det/checkpoint/storage.h"
#include "det/master/checkpoints/experiment_storages.h"
#include "det/master/mlflow/records.h"
#include "det/master/services.h"

namespace det::master::mlflow {

struct Experiment {
  ExperimentId id;
  ExperimentDoc doc;
};
struct Run {
  TrialId trial;
  ExperimentId experiment;
  RunDoc doc;
};
struct Metric {
  std::string key;
  double value = 0;
  std::int64_t timestamp = 0, step = 0;
};

/// What MLflow's clients said, in memory; every change is durable when its call returns.
///
/// Threads: not safe; on the master's strand. Pointers stay good: nothing is ever removed.
class Book {
 public:
  /// Reads the store.
  explicit Book(Services& s);

  /// Null: no such thing, or the experiment was deleted in the platform.
  Experiment* experiment(const std::string& id);
  Experiment* named(const std::string& name);
  Run* run(const std::string& id);
  ModelDoc* model(const std::string& id);
  std::vector<Experiment*> experiments();
  std::vector<Run*> runs(ExperimentId experiment);

  Experiment* add(ExperimentId id, ExperimentDoc doc);
  Run* add(TrialId trial, ExperimentId experiment, RunDoc doc);
  ModelDoc* add(ModelDoc doc);

  asio::awaitable<void> save(const Experiment& experiment);
  asio::awaitable<void> save(const Run& run);
  asio::awaitable<void> save(const ModelDoc& model);

  /// Reports the metrics as the curves of the trial, and what curves cannot hold in the group kRepeats.
  asio::awaitable<Result<void>> log(Run& run, std::vector<Metric> metrics);
  /// All values of a metric, by time.
  asio::awaitable<std::vector<Metric>> history(const Run& run, const std::string& key);

  /// Stores a file, and deletes the one of that name before.
  asio::awaitable<Result<Artifact>> store_file(ExperimentId experiment, std::string name, std::string content,
                                               std::optional<Artifact> before);
  asio::awaitable<Result<std::string>> read_file(ExperimentId experiment, std::string uuid, std::string name);
  asio::awaitable<Result<void>> delete_file(ExperimentId experiment, std::string uuid);

  Turns creations{};  ///< of experiments: names are unique

 private:
  bool is_there(ExperimentId id) const;
  asio::awaitable<Result<void>> report(TrialId trial, std::string group, std::int64_t batches,
                                       json::object values, std::int64_t timestamp);

  Services& s_;
  std::map<ExperimentId, Experiment> experiments_;
  std::map<std::string, Run> runs_;
  std::map<std::string, ModelDoc> models_;
  TurnsOf<TrialId> logs_{};
  std::shared_ptr<ExperimentStorages> storages_;
  std::shared_ptr<std::mutex> opening_ = std::make_shared<std::mutex>();
};

}  // namespace det::master::mlflow
