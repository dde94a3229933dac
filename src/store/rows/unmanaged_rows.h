#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Experiments and trials whose processes run outside the cluster.
namespace det::store {

void put_unmanaged(Connection& connection, const UnmanagedRecord& record);
/// Before the experiment's trials go.
void delete_unmanaged(Connection& connection, ExperimentId id);
std::vector<UnmanagedRecord> read_unmanaged(Connection& connection);

}  // namespace det::store
