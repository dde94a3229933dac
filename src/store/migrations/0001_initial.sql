-- What the platform remembers, first version.
--
-- Documents (BLOB columns called body, config, hparams, …) are in the encoding
-- of document.h, which keeps every double to the bit, NaN too, and is small.
-- Times are microseconds since 1970. Columns of doubles hold the text 'NaN'
-- where the number is not one, because SQLite would store NULL.

-- The log of the master's decisions, and what bounds its replay.
CREATE TABLE events (
  sequence INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  body BLOB NOT NULL
);
CREATE TABLE snapshots (
  sequence INTEGER PRIMARY KEY,
  body BLOB NOT NULL
);

CREATE TABLE experiments (
  id INTEGER PRIMARY KEY,
  state TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  notes TEXT NOT NULL,
  labels BLOB NOT NULL,
  model_definition TEXT NOT NULL,
  model_definition_bytes INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  job_id TEXT NOT NULL,
  resource_pool TEXT NOT NULL,
  start_time INTEGER NOT NULL,
  end_time INTEGER,
  progress REAL NOT NULL,
  archived INTEGER NOT NULL,
  forked_from INTEGER,
  error TEXT NOT NULL,
  project_id INTEGER NOT NULL,
  -- Taken from the configuration, for lists.
  searcher TEXT NOT NULL,
  searcher_metric TEXT NOT NULL,
  smaller_is_better INTEGER NOT NULL
);
CREATE INDEX experiments_by_model_definition ON experiments (model_definition);
-- Large and never changing, apart from what changes with every report.
CREATE TABLE experiment_documents (
  experiment_id INTEGER PRIMARY KEY,
  config BLOB NOT NULL,
  original_config TEXT NOT NULL
);
CREATE TABLE experiment_labels (
  experiment_id INTEGER NOT NULL,
  label TEXT NOT NULL,
  PRIMARY KEY (experiment_id, label)
) WITHOUT ROWID;

CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  experiment_id INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  state TEXT NOT NULL,
  hparams BLOB NOT NULL,
  seed INTEGER NOT NULL,
  restarts INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  batches INTEGER NOT NULL,
  latest_checkpoint TEXT NOT NULL,
  warm_start_checkpoint TEXT NOT NULL,
  runner_state TEXT NOT NULL,
  best_metric REAL,
  error TEXT NOT NULL,
  start_time INTEGER NOT NULL,
  end_time INTEGER
);
CREATE INDEX trials_by_experiment ON trials (experiment_id);
CREATE INDEX trials_by_task ON trials (task_id);

CREATE TABLE allocations (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  task_id TEXT NOT NULL,
  experiment_id INTEGER NOT NULL,
  trial_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  state TEXT NOT NULL,
  shares BLOB NOT NULL,
  requested INTEGER NOT NULL,
  start_time INTEGER,
  end_time INTEGER,
  exit_reason TEXT NOT NULL
);
CREATE INDEX allocations_by_task ON allocations (task_id);
CREATE INDEX allocations_by_experiment ON allocations (experiment_id);

CREATE TABLE checkpoints (
  number INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  experiment_id INTEGER NOT NULL,
  trial_id INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  allocation_id TEXT NOT NULL,
  state TEXT NOT NULL,
  batches INTEGER NOT NULL,
  resources BLOB NOT NULL,
  bytes INTEGER NOT NULL,
  metadata BLOB NOT NULL,
  searcher_metric REAL,
  report_time INTEGER NOT NULL
);
CREATE INDEX checkpoints_by_experiment ON checkpoints (experiment_id, state, bytes);
CREATE INDEX checkpoints_by_trial ON checkpoints (trial_id);

-- Reports, clustered by the curve that they belong to.
CREATE TABLE metrics (
  trial_id INTEGER NOT NULL,
  metric_group TEXT NOT NULL,
  batches INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  report_time INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (trial_id, metric_group, batches)
) WITHOUT ROWID;
-- Reports of earlier runs, from after the batch count that a later run started at.
CREATE TABLE archived_metrics (
  number INTEGER PRIMARY KEY,
  trial_id INTEGER NOT NULL,
  metric_group TEXT NOT NULL,
  batches INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  report_time INTEGER NOT NULL,
  body BLOB NOT NULL
);
CREATE INDEX archived_metrics_by_trial ON archived_metrics (trial_id);
-- The run that may report; reports of earlier ones come too late.
CREATE TABLE metric_runs (
  trial_id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL
);
-- Sums over the reports up to a batch count, so that a summary reads only what came after.
CREATE TABLE metric_summaries (
  trial_id INTEGER NOT NULL,
  metric_group TEXT NOT NULL,
  up_to_batches INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (trial_id, metric_group)
) WITHOUT ROWID;

-- Log lines in the order of their arrival. What all lines of an origin share is stored once.
CREATE TABLE log_tasks (
  number INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL UNIQUE
);
CREATE TABLE log_origins (
  number INTEGER PRIMARY KEY,
  task INTEGER NOT NULL,
  allocation_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  container_id TEXT NOT NULL,
  rank INTEGER,
  source TEXT NOT NULL,
  stdtype TEXT NOT NULL
);
CREATE INDEX log_origins_by_task ON log_origins (task);
CREATE TABLE logs (
  id INTEGER PRIMARY KEY,
  task INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  level TEXT NOT NULL,
  partial INTEGER NOT NULL,
  time INTEGER NOT NULL,
  line BLOB NOT NULL
);
CREATE INDEX logs_by_task ON logs (task);
-- How far each stream is stored: lines of lower sequence are repetitions.
CREATE TABLE log_streams (
  stream TEXT PRIMARY KEY,
  task INTEGER NOT NULL,
  next_sequence INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX log_streams_by_task ON log_streams (task);

CREATE TABLE model_definitions (
  digest TEXT PRIMARY KEY,
  archive BLOB NOT NULL
);

CREATE TABLE users (
  id INTEGER PRIMARY KEY,
  username TEXT NOT NULL,
  display_name TEXT NOT NULL,
  admin INTEGER NOT NULL,
  active INTEGER NOT NULL,
  password_hash TEXT NOT NULL,
  modified_at INTEGER NOT NULL
);
CREATE TABLE sessions (
  token_hash TEXT PRIMARY KEY,
  user_id INTEGER NOT NULL,
  expires INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE templates (
  name TEXT PRIMARY KEY,
  yaml TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- Rows of deleted experiments that are invisible already and are removed bit by bit:
-- kind 'trial' (metrics of that trial), 'task' (logs of that task number).
CREATE TABLE purges (
  kind TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
