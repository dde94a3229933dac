-- Checkpoints that are deleted and can be brought back, because their files stay until `due`.
CREATE TABLE deletions (
  uuid TEXT PRIMARY KEY,
  experiment_id INTEGER NOT NULL,
  state TEXT NOT NULL,
  resources TEXT NOT NULL,
  due INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX deletions_of_experiment ON deletions (experiment_id);
CREATE INDEX deletions_by_due ON deletions (due);
