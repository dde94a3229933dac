#include "det/store/rows/task_rows.h"

#include "det/store/conditions.h"

namespace det::store {

namespace {

TaskRecord read_row(Query& query) {
  TaskRecord record;
  query.read(Document{record});
  return record;
}

}  // namespace

void put_task(Connection& connection, const TaskRecord& r) {
  Query(connection, R"sql(
INSERT INTO tasks (id, type, state, owner, workspace_id, resource_pool, context, start_time, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET state = excluded.state, resource_pool = excluded.resource_pool, body = excluded.body
)sql")
      .bind(r.id, r.type, r.state, r.owner, r.workspace_id, r.resource_pool, r.context, r.start_time,
            Document{r})
      .run();
}

std::optional<TaskRecord> read_task(Connection& connection, const std::string& id) {
  Query query(connection, "SELECT body FROM tasks WHERE id = ?");
  query.bind(id);
  return first<TaskRecord>(query, read_row);
}

std::vector<TaskRecord> read_task_list(Connection& connection, const TaskQuery& tasks) {
  Conditions conditions(connection);
  if (tasks.type) conditions.add("type = ?", boost::describe::enum_to_string(*tasks.type, "?"));
  if (tasks.workspace_id) conditions.add("workspace_id = ?", *tasks.workspace_id);
  Query query(connection, OneTimeSql{fmt::format("SELECT body FROM tasks\n{}\nORDER BY start_time, id",
                                                 conditions.where())});
  conditions.bind(query);
  return collect<TaskRecord>(query, read_row);
}

}  // namespace det::store
