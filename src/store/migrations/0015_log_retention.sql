-- For how many days after its end the log of a trial is kept (-1: as long as its experiment), where somebody said
-- so: kind 'trial', or kind 'experiment' for all trials of one that say nothing themselves.
CREATE TABLE log_retention (
  kind TEXT NOT NULL,
  id INTEGER NOT NULL,
  days INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
-- Purges of kind 'logs' (a task number) remove lines up to this one, invisible already; the task itself stays.
ALTER TABLE purges ADD COLUMN up_to INTEGER NOT NULL DEFAULT 0;
