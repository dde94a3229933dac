-- Templates belong to a workspace. Those that were there before stay in "Uncategorized".
ALTER TABLE templates ADD COLUMN workspace_id INTEGER NOT NULL DEFAULT 1;
