#include "det/store/rows/user_rows.h"

namespace det::store {

void put_user(Connection& connection, const UserRecord& r) {
  Query(connection, R"sql(
INSERT INTO users (id, username, display_name, admin, active, password_hash, modified_at, agent_user_group,
                   remote)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET username = excluded.username, display_name = excluded.display_name, admin = excluded.admin,
    active = excluded.active, password_hash = excluded.password_hash, modified_at = excluded.modified_at,
    agent_user_group = excluded.agent_user_group, remote = excluded.remote
)sql")
      .bind(r.id, r.username, r.display_name, r.admin, r.active, r.password_hash, r.modified_at,
            Document{r.agent_user_group}, r.remote)
      .run();
}

void put_session(Connection& connection, const SessionRecord& r) {
  Query(connection, R"sql(
INSERT INTO sessions (token_hash, user_id, expires)
VALUES (?, ?, ?)
ON CONFLICT (token_hash) DO UPDATE SET user_id = excluded.user_id, expires = excluded.expires
)sql")
      .bind(r.token_hash, r.user, r.expires)
      .run();
}

void delete_session(Connection& connection, const std::string& token_hash) {
  Query(connection, "DELETE FROM sessions WHERE token_hash = ?").bind(token_hash).run();
}

void delete_sessions(Connection& connection, const DeleteSessionsOf& which) {
  Query(connection, R"sql(
DELETE FROM sessions
WHERE user_id = ? AND token_hash <> ? AND token_hash NOT IN (SELECT token_hash FROM access_tokens)
)sql")
      .bind(which.user, which.kept)
      .run();
}

void put_access_token(Connection& connection, const AccessTokenRecord& r) {
  Query(connection, R"sql(
INSERT INTO access_tokens (id, user_id, description, creation_time, expires, revoked, token_hash)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET description = excluded.description, revoked = excluded.revoked
)sql")
      .bind(r.id, r.user, r.description, r.creation_time, r.expires, r.revoked, r.token_hash)
      .run();
}

void put_template(Connection& connection, const TemplateRecord& r) {
  Query(connection, R"sql(
INSERT INTO templates (name, yaml, workspace_id)
VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET yaml = excluded.yaml, workspace_id = excluded.workspace_id
)sql")
      .bind(r.name, r.yaml, r.workspace)
      .run();
}

void delete_template(Connection& connection, const std::string& name) {
  Query(connection, "DELETE FROM templates WHERE name = ?").bind(name).run();
}

void put_setting(Connection& connection, const std::string& key, const std::string& value) {
  Query(connection, R"sql(
INSERT INTO settings (name, value)
VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
)sql")
      .bind(key, value)
      .run();
}

std::vector<UserRecord> read_users(Connection& connection) {
  Query query(connection, R"sql(
SELECT id, username, display_name, admin, active, password_hash, modified_at, agent_user_group, remote
FROM users
ORDER BY id
)sql");
  return collect<UserRecord>(query, [](Query& row) {
    UserRecord r;
    row.read(r.id, r.username, r.display_name, r.admin, r.active, r.password_hash, r.modified_at,
             Document{r.agent_user_group}, r.remote);
    return r;
  });
}

std::optional<SessionRecord> read_session(Connection& connection, const std::string& token_hash) {
  Query query(connection, "SELECT token_hash, user_id, expires FROM sessions WHERE token_hash = ?");
  query.bind(token_hash);
  return first<SessionRecord>(query, [](Query& row) {
    SessionRecord r;
    row.read(r.token_hash, r.user, r.expires);
    return r;
  });
}

std::vector<AccessTokenRecord> read_access_tokens(Connection& connection) {
  Query query(connection, R"sql(
SELECT id, user_id, description, creation_time, expires, revoked, token_hash
FROM access_tokens
ORDER BY id
)sql");
  return collect<AccessTokenRecord>(query, [](Query& row) {
    AccessTokenRecord r;
    row.read(r.id, r.user, r.description, r.creation_time, r.expires, r.revoked, r.token_hash);
    return r;
  });
}

std::vector<TemplateRecord> read_templates(Connection& connection) {
  Query query(connection, "SELECT name, yaml, workspace_id FROM templates ORDER BY name");
  return collect<TemplateRecord>(query, [](Query& row) {
    TemplateRecord r;
    row.read(r.name, r.yaml, r.workspace);
    return r;
  });
}

std::optional<std::string> read_setting(Connection& connection, const std::string& key) {
  Query query(connection, "SELECT value FROM settings WHERE name = ?");
  query.bind(key);
  return first<std::string>(query, [](Query& row) { return row.get<std::string>(); });
}

}  // namespace det::store
