-- Where searches stood that are complete: what is needed to extend them.
CREATE TABLE experiment_searches (
  experiment_id INTEGER PRIMARY KEY,
  state         BLOB NOT NULL
);
