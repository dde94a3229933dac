-- What trials ran in. Many trials share one environment, which is kept once.

CREATE TABLE environments (
  digest TEXT PRIMARY KEY,
  body BLOB NOT NULL
);
CREATE TABLE trial_environments (
  trial_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  digest TEXT NOT NULL,
  report_time INTEGER NOT NULL,
  PRIMARY KEY (trial_id, run_id, rank)
) WITHOUT ROWID;
CREATE INDEX trial_environments_by_digest ON trial_environments (digest);

-- The git commit of the submitted files; null for what was submitted before this column was there.
ALTER TABLE experiment_documents ADD COLUMN git BLOB;
