-- Users who have roles together.
CREATE TABLE user_groups (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
CREATE TABLE user_group_members (
  group_id INTEGER NOT NULL,
  user_id INTEGER NOT NULL,
  PRIMARY KEY (group_id, user_id)
) WITHOUT ROWID;
-- An assignment is of a user (group_id 0) or of a group (user_id 0).
CREATE TABLE new_role_assignments (
  user_id INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  role_id INTEGER NOT NULL,
  workspace_id INTEGER NOT NULL,
  PRIMARY KEY (user_id, group_id, role_id, workspace_id)
) WITHOUT ROWID;
INSERT INTO new_role_assignments (user_id, group_id, role_id, workspace_id)
SELECT user_id, 0, role_id, workspace_id FROM role_assignments;
DROP TABLE role_assignments;
ALTER TABLE new_role_assignments RENAME TO role_assignments;
