#include "det/store/rows/workspace_rows.h"

namespace det::store {

void put_workspace(Connection& connection, const WorkspaceRecord& r) {
  Query(connection, R"sql(
INSERT INTO workspaces (id, name, archived, owner, creation_time, default_compute_pool, default_aux_pool,
                        checkpoint_storage, agent_user_group)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, archived = excluded.archived, owner = excluded.owner,
    default_compute_pool = excluded.default_compute_pool, default_aux_pool = excluded.default_aux_pool,
    checkpoint_storage = excluded.checkpoint_storage, agent_user_group = excluded.agent_user_group
)sql")
      .bind(r.id, r.name, r.archived, r.owner, r.creation_time, r.default_compute_pool, r.default_aux_pool,
            Document{r.checkpoint_storage}, Document{r.agent_user_group})
      .run();
}

void delete_workspace(Connection& connection, WorkspaceId id) {
  Query(connection, "DELETE FROM workspace_pins WHERE workspace_id = ?").bind(id).run();
  Query(connection, "DELETE FROM config_policies WHERE workspace_id = ?").bind(id).run();
  Query(connection, "DELETE FROM workspaces WHERE id = ?").bind(id).run();
}

void put_project(Connection& connection, const ProjectRecord& r) {
  Query(connection, R"sql(
INSERT INTO projects (id, workspace_id, name, key, description, notes, archived, owner, creation_time)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET workspace_id = excluded.workspace_id, name = excluded.name, key = excluded.key,
    description = excluded.description, notes = excluded.notes, archived = excluded.archived,
    owner = excluded.owner
)sql")
      .bind(r.id, r.workspace, r.name, r.key, r.description, Document{r.notes}, r.archived, r.owner,
            r.creation_time)
      .run();
}

void delete_project(Connection& connection, ProjectId id) {
  Query(connection, "DELETE FROM projects WHERE id = ?").bind(id).run();
}

void put_pin(Connection& connection, const WorkspacePin& pin) {
  Query(connection, R"sql(
INSERT INTO workspace_pins (user_id, workspace_id, time)
VALUES (?, ?, ?)
ON CONFLICT (user_id, workspace_id) DO UPDATE SET time = excluded.time
)sql")
      .bind(pin.user, pin.workspace, pin.time)
      .run();
}

void delete_pin(Connection& connection, UserId user, WorkspaceId workspace) {
  Query(connection, "DELETE FROM workspace_pins WHERE user_id = ? AND workspace_id = ?")
      .bind(user, workspace)
      .run();
}

std::vector<WorkspaceRecord> read_workspaces(Connection& connection) {
  Query query(connection, R"sql(
SELECT id, name, archived, owner, creation_time, default_compute_pool, default_aux_pool, checkpoint_storage,
       agent_user_group
FROM workspaces
ORDER BY id
)sql");
  return collect<WorkspaceRecord>(query, [](Query& row) {
    WorkspaceRecord r;
    row.read(r.id, r.name, r.archived, r.owner, r.creation_time, r.default_compute_pool, r.default_aux_pool,
             Document{r.checkpoint_storage}, Document{r.agent_user_group});
    return r;
  });
}

std::vector<ProjectRecord> read_projects(Connection& connection) {
  Query query(connection, R"sql(
SELECT id, workspace_id, name, key, description, notes, archived, owner, creation_time
FROM projects
ORDER BY id
)sql");
  return collect<ProjectRecord>(query, [](Query& row) {
    ProjectRecord r;
    row.read(r.id, r.workspace, r.name, r.key, r.description, Document{r.notes}, r.archived, r.owner,
             r.creation_time);
    return r;
  });
}

std::vector<WorkspacePin> read_pins(Connection& connection) {
  Query query(connection, "SELECT user_id, workspace_id, time FROM workspace_pins");
  return collect<WorkspacePin>(query, [](Query& row) {
    WorkspacePin pin;
    row.read(pin.user, pin.workspace, pin.time);
    return pin;
  });
}

std::map<ProjectId, ProjectCounts> read_project_counts(Connection& connection) {
  Query query(connection, R"sql(
SELECT project_id, COUNT(*),
       SUM(CASE WHEN state IN ('Active', 'Paused', 'StoppingCompleted', 'StoppingCanceled', 'StoppingKilled',
                               'StoppingError') THEN 1 ELSE 0 END),
       CAST(SUM((SELECT COUNT(*) FROM trials WHERE trials.experiment_id = experiments.id)) AS BIGINT),
       MAX(start_time)
FROM experiments
WHERE state <> 'Deleted'
GROUP BY project_id
)sql");
  std::map<ProjectId, ProjectCounts> counts;
  while (query.next()) {
    ProjectId id;
    ProjectCounts c;
    query.read(id, c.experiments, c.active, c.trials, c.last_started);
    counts.emplace(id, c);
  }
  return counts;
}

}  // namespace det::store
