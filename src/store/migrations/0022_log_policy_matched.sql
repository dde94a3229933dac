-- Which log policies have matched a line of the trial's log.
ALTER TABLE trials ADD COLUMN log_policy_matched TEXT NOT NULL DEFAULT '';
