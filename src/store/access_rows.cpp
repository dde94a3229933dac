#include "det/store/access_rows.h"

#include "det/base/text.h"
#include "det/store/conditions.h"

namespace det::store {

void put_role_assignment(Connection& connection, const RoleAssignmentRecord& r) {
  Query(connection, R"sql(
INSERT INTO role_assignments (user_id, role_id, workspace_id)
VALUES (?, ?, ?)
ON CONFLICT DO NOTHING
)sql")
      .bind(r.user, r.role, r.workspace)
      .run();
}

void delete_role_assignment(Connection& connection, const RoleAssignmentRecord& r) {
  Query(connection, "DELETE FROM role_assignments WHERE user_id = ? AND role_id = ? AND workspace_id = ?")
      .bind(r.user, r.role, r.workspace)
      .run();
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
SELECT user_id, role_id, workspace_id
FROM role_assignments
ORDER BY user_id, workspace_id, role_id
)sql");
  return collect<RoleAssignmentRecord>(query, [](Query& row) {
    RoleAssignmentRecord r;
    row.read(r.user, r.role, r.workspace);
    return r;
  });
}

std::vector<AuditRecord> read_audit(Connection& connection, const AuditQuery& wanted) {
  Conditions conditions;
  if (!wanted.username.empty()) conditions.add("username = ?", wanted.username);
  if (!wanted.text.empty()) {
    const auto text = to_lower(wanted.text);
    conditions.add_all(
        "(instr(lower(operation), ?) > 0 OR instr(lower(path), ?) > 0 OR instr(lower(about), ?) > 0)",
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
