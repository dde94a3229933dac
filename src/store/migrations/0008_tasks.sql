-- Tasks that are no trials: commands, shells, notebooks, TensorBoards. What lists ask for has columns, the rest is in the
-- document.
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  type TEXT NOT NULL,
  state TEXT NOT NULL,
  owner INTEGER NOT NULL,
  workspace_id INTEGER NOT NULL,
  resource_pool TEXT NOT NULL,
  context TEXT NOT NULL,
  start_time INTEGER NOT NULL,
  body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX tasks_by_type ON tasks (type, start_time);
CREATE INDEX tasks_by_context ON tasks (context);
