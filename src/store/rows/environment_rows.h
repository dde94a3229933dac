#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// What trials ran in: each environment once, and who had it.
namespace det::store {

void put_environment(Connection& connection, const EnvironmentRecord& record);
/// Those of the experiment's trials, whose rows must still be there.
void copy_environment(Connection& connection, const CopyEnvironment& copy);

void delete_environments(Connection& connection, ExperimentId id);

std::vector<EnvironmentRecord> read_environments(Connection& connection, TrialId trial);

}  // namespace det::store
