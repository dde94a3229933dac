#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "det/base/id.h"
#include "det/base/time.h"
#include "det/experiment/records.h"

namespace det::store {

class Connection;

/// A checkpoint that was deleted and can be brought back: its files are still there.
struct DeletionRecord {
  std::string uuid;
  ExperimentId experiment_id;
  experiment::CheckpointState state = experiment::CheckpointState::Completed;  ///< what it was before
  std::map<std::string, std::int64_t> resources;                               ///< the same
  Time due{};                                                                  ///< when its files go
};

/// Replaces what was said of the same checkpoint. Goes with its experiment.
struct PutDeletion {
  DeletionRecord record;
};
/// The files are gone, or the checkpoint was brought back.
struct EndDeletion {
  std::string uuid;
};

void put_deletion(Connection& connection, const DeletionRecord& record);
void end_deletion(Connection& connection, const std::string& uuid);
std::optional<DeletionRecord> read_deletion(Connection& connection, const std::string& uuid);
std::vector<DeletionRecord> read_deletions_of_experiment(Connection& connection, ExperimentId id);
/// At most 1000, those that are due longest first.
std::vector<DeletionRecord> read_due_deletions(Connection& connection, Time now);

}  // namespace det::store
