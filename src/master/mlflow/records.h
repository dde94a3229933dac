#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "det/base/json.h"

/// What MLflow's clients say of experiments, runs and models, as the store keeps it.
namespace det::master::mlflow {

using Words = std::map<std::string, std::string>;

/// A file that a client uploaded: a checkpoint of its own, with one file.
struct Artifact {
  std::string uuid;
  std::int64_t bytes = 0;
};
BOOST_DESCRIBE_STRUCT(Artifact, (), (uuid, bytes))

/// An unmanaged experiment; under the setting `mlflow.experiment/<id>`. Times are in milliseconds since 1970.
struct ExperimentDoc {
  std::string name;
  std::int64_t created = 0, updated = 0;
  bool deleted = false;
  Words tags;
  json::array models;  ///< ids of logged models
};
BOOST_DESCRIBE_STRUCT(ExperimentDoc, (), (name, created, updated, deleted, tags, models))

/// The newest value of a metric, by step and then by time.
struct Latest {
  double value = 0;
  std::int64_t timestamp = 0, step = 0;
};
BOOST_DESCRIBE_STRUCT(Latest, (), (value, timestamp, step))

/// A trial; under "mlflow" in its metadata.
struct RunDoc {
  std::string run_id, name, user, status = "RUNNING";
  std::int64_t start_time = 0, end_time = 0;
  bool deleted = false;
  Words params, tags;
  std::map<std::string, Latest> metrics;
  std::map<std::string, Artifact> artifacts;
  std::int64_t repeats = 0;  ///< reports of the group kRepeats
  json::array inputs, outputs;
};
BOOST_DESCRIBE_STRUCT(RunDoc, (),
                      (run_id, name, user, status, start_time, end_time, deleted, params, tags, metrics,
                       artifacts, repeats, inputs, outputs))

/// A logged model; under the setting `mlflow.model/<id>`.
struct ModelDoc {
  std::string model_id, name, type, run_id, status = "LOGGED_MODEL_PENDING";
  std::int64_t experiment = 0, created = 0, updated = 0;
  bool deleted = false;
  Words params, tags;
  std::map<std::string, Artifact> artifacts;
};
BOOST_DESCRIBE_STRUCT(ModelDoc, (),
                      (model_id, name, type, run_id, status, experiment, created, updated, deleted, params,
                       tags, artifacts))

/// The group of a trial with what its curves cannot hold: a second value of a metric at one step, or a
/// negative step. Each report has the members key, value, step and timestamp.
inline constexpr const char* kRepeats = "mlflow_repeated";

}  // namespace det::master::mlflow
