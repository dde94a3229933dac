-- What administrators decide about the configurations of others, as it was written.
CREATE TABLE config_policies (
  workspace_id INTEGER NOT NULL,  -- 0: of the whole cluster
  workload TEXT NOT NULL,
  yaml TEXT NOT NULL,
  PRIMARY KEY (workspace_id, workload)
) WITHOUT ROWID;
