#pragma once

#include <optional>
#include <string>
#include <vector>

#include "det/base/id.h"

namespace det::store {

class Connection;

/// A checkpoint that an allocation said it would save, and has not reported: there may be nothing of it in
/// storage, half of it, or all.
struct BegunCheckpointRecord {
  std::string uuid;
  ExperimentId experiment_id;
  std::string allocation_id;
};

/// Nothing where a checkpoint of that uuid was reported, whatever became of it, or was begun already. A
/// PutCheckpoint ends it, and so does the end of its experiment.
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
