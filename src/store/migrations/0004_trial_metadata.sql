-- What trials say of themselves through the Core API: one document each, the newest.

CREATE TABLE trial_metadata (
  trial_id INTEGER PRIMARY KEY,
  body BLOB NOT NULL
);
