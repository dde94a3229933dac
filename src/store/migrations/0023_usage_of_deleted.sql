-- What deleted experiments had used stays in the reports of usage.
CREATE TABLE usage_of_deleted (
  allocation_id TEXT PRIMARY KEY,
  task_id TEXT NOT NULL,
  experiment_id INTEGER NOT NULL,
  trial_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  state TEXT NOT NULL,
  shares BLOB NOT NULL,
  requested INTEGER NOT NULL,
  start_time INTEGER NOT NULL,
  end_time INTEGER NOT NULL,
  exit_reason TEXT NOT NULL,
  owner INTEGER NOT NULL,
  resource_pool TEXT NOT NULL,
  labels BLOB NOT NULL,
  project_id INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX usage_of_deleted_by_start ON usage_of_deleted (start_time);
