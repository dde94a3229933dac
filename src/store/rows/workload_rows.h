#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// What a trial did, as one list: its reports and its checkpoints.
namespace det::store {

/// See Store::workloads. Steps over the keys of what is before the page, and reads the rest of the page only.
WorkloadPage read_workloads(Connection& connection, const WorkloadQuery& query);

}  // namespace det::store
