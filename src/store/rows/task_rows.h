#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Tasks that are no trials.
namespace det::store {

void put_task(Connection& connection, const TaskRecord& record);

std::optional<TaskRecord> read_task(Connection& connection, const std::string& id);
std::vector<TaskRecord> read_task_list(Connection& connection, const TaskQuery& query);

}  // namespace det::store
