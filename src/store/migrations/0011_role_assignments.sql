-- Who has which role where; workspace 0: for the whole cluster.
CREATE TABLE role_assignments (
  user_id      INTEGER NOT NULL,
  role_id      INTEGER NOT NULL,
  workspace_id INTEGER NOT NULL,
  PRIMARY KEY (user_id, role_id, workspace_id)
);
