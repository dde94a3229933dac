-- Names for checkpoints that shall be kept.

CREATE TABLE models (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  notes TEXT NOT NULL,
  labels BLOB NOT NULL,
  metadata BLOB NOT NULL,
  archived INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  creation_time INTEGER NOT NULL,
  last_updated_time INTEGER NOT NULL,
  last_version INTEGER NOT NULL
);
CREATE TABLE model_versions (
  model_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  checkpoint TEXT NOT NULL,
  name TEXT NOT NULL,
  comment TEXT NOT NULL,
  notes TEXT NOT NULL,
  labels BLOB NOT NULL,
  metadata BLOB NOT NULL,
  owner INTEGER NOT NULL,
  creation_time INTEGER NOT NULL,
  last_updated_time INTEGER NOT NULL,
  PRIMARY KEY (model_id, version)
) WITHOUT ROWID;
