#pragma once

#include <optional>
#include <string>
#include <vector>

#include "det/base/id.h"

namespace det::store {

class Connection;

/// A checkpoint that an allocation announced but has not reported: none, some or all of its files may be in
/// storage.
struct BegunCheckpointRecord {
  std::string uuid;
  ExperimentId experiment_id;
  std::string allocation_id;
};

/// Has no effect if a checkpoint with that uuid was reported or begun before, even if it was deleted since.
/// PutCheckpoint removes the row, and so does deleting the experiment.
struct BeginCheckpoint {
  BegunCheckpointRecord record;
};
/// Nothing of it is in storage any more.
struct DropBegunCheckpoint {
  std::string uuid;
};

void begin_checkpoint(Connection& connection, const BegunCheckpointRecord& record);
void drop_begun_checkpoint(Connection& connection, const std::string& uuid);
std::optional<BegunCheckpointRecord> read_begun_checkpoint(Connection& connection, const std::string& uuid);
std::vector<BegunCheckpointRecord> read_begun_checkpoints_of_experiment(Connection& connection,
                                                                        ExperimentId id);

}  // namespace det::store
