-- The accounts on the agents' machines that tasks of users and of workspaces run as.
ALTER TABLE users ADD COLUMN agent_user_group BLOB;
ALTER TABLE workspaces ADD COLUMN agent_user_group BLOB;
