-- To whom experiments belong: workspaces hold projects, projects hold experiments.

CREATE TABLE workspaces (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  archived INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  creation_time INTEGER NOT NULL,
  default_compute_pool TEXT NOT NULL,
  default_aux_pool TEXT NOT NULL,
  checkpoint_storage BLOB NOT NULL
);
CREATE TABLE projects (
  id INTEGER PRIMARY KEY,
  workspace_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  key TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  notes BLOB NOT NULL,
  archived INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  creation_time INTEGER NOT NULL,
  UNIQUE (workspace_id, name)
);
CREATE TABLE workspace_pins (
  user_id INTEGER NOT NULL,
  workspace_id INTEGER NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (user_id, workspace_id)
) WITHOUT ROWID;
CREATE INDEX experiments_by_project ON experiments (project_id);
CREATE INDEX allocations_by_start ON allocations (start_time);
