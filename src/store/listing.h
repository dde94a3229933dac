#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

namespace det::store {

/// One page of the experiments that match. Reads no configuration.
/// Without reading a row: from the indexes of states.
StateCounts read_state_counts(Connection& connection);
LastIds read_last_ids(Connection& connection);
ExperimentList read_experiment_list(Connection& connection, const ExperimentQuery& query);

}  // namespace det::store
