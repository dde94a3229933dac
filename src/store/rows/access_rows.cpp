#include "det/store/rows/access_rows.h"

#include "det/base/text.h"
#include "det/store/conditions.h"

namespace det::store {

void put_role_assignment(Connection& connection, const RoleAssignmentRecord& r) {
  Query(connection, R"sql(
INSERT INTO role_assignments (user_id, group_id, role_id, workspace_id)
VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING
)sql")
      .bind(r.user, r.group, r.role, r.workspace)
      .run();
}

void delete_role_assignment(Connection& connection, const RoleAssignmentRecord& r) {
  Query(connection, R"sql(
DELETE FROM role_assignments
WHERE user_id = ? AND group_id = ? AND role_id = ? AND workspace_id = ?
)sql")
      .bind(r.user, r.group, r.role, r.workspace)
      .run();
}

void put_group(Connection& connection, const GroupRecord& r) {
  Query(connection, R"sql(
INSERT INTO user_groups (id, name)
VALUES (?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name
)sql")
      .bind(r.id, r.name)
      .run();
  Query(connection, "DELETE FROM user_group_members WHERE group_id = ?").bind(r.id).run();
  for (const auto user : r.members)
    Query(connection, "INSERT INTO user_group_members (group_id, user_id) VALUES (?, ?)")
        .bind(r.id, user)
        .run();
}

void delete_group(Connection& connection, GroupId id) {
  Query(connection, "DELETE FROM user_group_members WHERE group_id = ?").bind(id).run();
  Query(connection, "DELETE FROM user_groups WHERE id = ?").bind(id).run();
}

void append_audit(Connection& connection, const AuditRecord& r) {
  Query(connection, R"sql(
INSERT INTO audit_log (time, user_id, username, by_task, address, operation, path, about, status)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
)sql")
      .bind(r.time, r.user, r.username, r.by_task, r.address, r.operation, r.path, r.about,
            std::int64_t{r.status})
      .run();
}

void prune_audit(Connection& connection, Time before) {
  Query(connection, "DELETE FROM audit_log WHERE time < ?").bind(before).run();
}

std::vector<RoleAssignmentRecord> read_role_assignments(Connection& connection) {
  Query query(connection, R"sql(
SELECT user_id, role_id, workspace_id, group_id
FROM role_assignments
ORDER BY user_id, workspace_id, role_id, group_id
)sql");
  return collect<RoleAssignmentRecord>(query, [](Query& row) {
    RoleAssignmentRecord r;
    row.read(r.user, r.role, r.workspace, r.group);
    return r;
  });
}

std::vector<GroupRecord> read_groups(Connection& connection) {
  std::map<GroupId, GroupRecord> groups;
  Query names(connection, "SELECT id, name FROM user_groups");
  while (names.next()) {
    GroupRecord r;
    names.read(r.id, r.name);
    groups.emplace(r.id, r);
  }
  Query members(connection, "SELECT group_id, user_id FROM user_group_members");
  while (members.next()) {
    GroupId group;
    UserId user;
    members.read(group, user);
    groups[group].members.insert(user);
  }
  std::vector<GroupRecord> all;
  for (auto& [id, group] : groups) all.push_back(std::move(group));
  return all;
}

std::vector<AuditRecord> read_audit(Connection& connection, const AuditQuery& wanted) {
  Conditions conditions(connection);
  if (!wanted.username.empty()) conditions.add("username = ?", wanted.username);
  if (!wanted.text.empty()) {
    const auto text = to_lower(wanted.text);
    conditions.add_all(fmt::format("({0}(lower(operation), ?) > 0 OR {0}(lower(path), ?) > 0 OR "
                                   "{0}(lower(about), ?) > 0)",
                                   connection.dialect().position),
                       {text, text, text});
  }
  if (wanted.after) conditions.add("time >= ?", wanted.after->microseconds);
  if (wanted.before) conditions.add("time < ?", wanted.before->microseconds);
  if (wanted.only_refused) conditions.add("status >= ?", std::int64_t{400});
  if (wanted.before_id > 0) conditions.add("id < ?", wanted.before_id);
  Query query(connection, OneTimeSql{fmt::format(R"sql(
SELECT id, time, user_id, username, by_task, address, operation, path, about, status
FROM audit_log
{}
ORDER BY id DESC {}
)sql",
                                                 conditions.where(), kLimit)});
  conditions.bind(query);
  bind_page(query, {.offset = 0, .limit = wanted.limit, .descending = true}, 0);
  return collect<AuditRecord>(query, [](Query& row) {
    AuditRecord r;
    std::int64_t status = 0;
    row.read(r.id, r.time, r.user, r.username, r.by_task, r.address, r.operation, r.path, r.about, status);
    r.status = static_cast<int>(status);
    return r;
  });
}

}  // namespace det::store
