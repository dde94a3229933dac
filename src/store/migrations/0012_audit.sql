-- What users changed, and who tried to log in; bounded by age.
CREATE TABLE audit_log (
  id        INTEGER PRIMARY KEY,
  time      INTEGER NOT NULL,
  user_id   INTEGER NOT NULL,
  username  TEXT NOT NULL,
  by_task   TEXT NOT NULL,
  address   TEXT NOT NULL,
  operation TEXT NOT NULL,
  path      TEXT NOT NULL,
  about     TEXT NOT NULL,
  status    INTEGER NOT NULL
);
CREATE INDEX audit_log_by_time ON audit_log (time);
