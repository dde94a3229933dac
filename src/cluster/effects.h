#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "det/base/id.h"
#include "det/base/json.h"
#include "det/experiment/records.h"
#include "det/task/task.h"

namespace det::cluster {

// Effects: rows to write with the event, and who has to be told once it is durable.
struct PutExperiment {
  experiment::ExperimentRecord record;
};
/// What ExperimentExtended, ExperimentContinued and SearchContinued need of an experiment that is over.
struct PutSearch {
  ExperimentId id;
  json::value search;
};
struct PutTrial {
  experiment::TrialRecord record;
};
struct PutAllocation {
  experiment::AllocationRecord record;
};
struct PutCheckpoint {
  experiment::CheckpointRecord record;
};
/// The experiment, or with `trial` one of its trials, runs outside the cluster.
struct PutUnmanaged {
  ExperimentId experiment;
  TrialId trial;
  std::string external_id;
};
/// The next run of the trial starts at `batches`: reports beyond are of runs that did not last. Nothing: it
/// has no checkpoint of the platform's, and only its own reports will say where it is.
struct RewindTrial {
  TrialId trial;
  std::int64_t run_id = 0;
  std::optional<std::int64_t> batches = 0;
};
struct PutTask {
  task::TaskRecord record;
};
/// The provider of the pool has something to do; without a pool, somebody may need machines, and what is due
/// shall be decided now.
struct WakeProvider {
  std::string pool;
};
/// A line for the log of the task.
struct LogNote {
  std::string task_id, allocation_id, text;
};
struct WakeAgent {
  std::string agent;
};  ///< its desired set changed
struct WakeTrial {
  TrialId trial;
};  ///< its operations changed
/// The search has events that somebody outside shall answer.
struct WakeSearch {
  ExperimentId id;
};
struct WakeAllocation {
  std::string allocation;
};  ///< it shall give way, or is over
/// The experiment is over: collect its checkpoints, then say CheckpointsCollected.
struct CollectCheckpoints {
  ExperimentId id;
};

using Effect = std::variant<PutExperiment, PutSearch, PutTrial, PutAllocation, PutCheckpoint, PutUnmanaged,
                            RewindTrial, PutTask, LogNote, WakeAgent, WakeTrial, WakeSearch, WakeAllocation,
                            CollectCheckpoints, WakeProvider>;

}  // namespace det::cluster
