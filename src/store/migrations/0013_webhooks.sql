-- Webhooks; what is to be delivered to them and was not yet; and which tasks' logs an expression was found in.

CREATE TABLE webhooks (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL,
  url           TEXT NOT NULL,
  type          TEXT NOT NULL,
  mode          TEXT NOT NULL,
  workspace_id  INTEGER NOT NULL,  -- 0: of all workspaces
  triggers      TEXT NOT NULL,
  owner         INTEGER NOT NULL,
  creation_time INTEGER NOT NULL
);

CREATE TABLE webhook_deliveries (
  event_id      TEXT PRIMARY KEY,
  webhook_id    INTEGER NOT NULL,
  body          TEXT NOT NULL,
  creation_time INTEGER NOT NULL,
  attempts      INTEGER NOT NULL,
  next_attempt  INTEGER NOT NULL
);
CREATE INDEX webhook_deliveries_of_webhook ON webhook_deliveries (webhook_id);

CREATE TABLE webhook_log_hits (
  task_id    TEXT NOT NULL,
  webhook_id INTEGER NOT NULL,
  pattern    TEXT NOT NULL,
  PRIMARY KEY (task_id, webhook_id, pattern)
) WITHOUT ROWID;
CREATE INDEX webhook_log_hits_of_webhook ON webhook_log_hits (webhook_id);

-- How many there are of each state is asked every few seconds.
CREATE INDEX experiments_by_state ON experiments (state);
CREATE INDEX trials_by_state ON trials (state);
