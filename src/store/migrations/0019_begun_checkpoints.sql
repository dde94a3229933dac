-- Checkpoints that a trial is about to save, or was when it ended: what is reported is no longer here.
CREATE TABLE begun_checkpoints (
  uuid TEXT PRIMARY KEY,
  experiment_id INTEGER NOT NULL,
  allocation_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX begun_checkpoints_of_experiment ON begun_checkpoints (experiment_id);
