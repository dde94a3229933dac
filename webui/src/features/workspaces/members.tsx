import { useMemo, useState } from "react";
import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { Members as Reply, Workspace } from "../../api/types";
import { useRights } from "../../components/people/me";
import { Loaded } from "../../components/parts";
import { AssignRole, RoleLabel, RolesDoNotCount } from "../../components/people/roles";
import { type Column, Table } from "../../components/tables/table";
import { groupsOf, type Member, type MemberGroup, membersOf } from "./arrange";

const pollMs = 5000;

/** Who has which roles in a workspace. */
export function Members({ workspace }: { workspace: Workspace }) {
  const { id, name } = workspace;
  const { may, rbac } = useRights();
  const [assigns, setAssigns] = useState(false);
  const [list, reload] = usePolled(
    `members ${id}`,
    async (signal) => {
      const reply = (await get("/api/v1/roles/workspace/{workspaceId}", { path: { workspaceId: id } }, signal)) as Reply;
      return { members: membersOf(reply), groups: groupsOf(reply) };
    },
    pollMs,
  );
  const assignsRoles = may("ASSIGN_ROLES", { workspace: id });
  const columns = useMemo(
    (): Column<Member>[] => [
      {
        id: "user",
        title: "User",
        value: ({ user }) => user.username,
        cell: ({ user }) => (
          <>
            {user.username} {user.displayName && <span className="quiet">{user.displayName}</span>}
            {!user.active && <span className="label">inactive</span>}
          </>
        ),
      },
      {
        id: "roles",
        title: "Roles",
        cell: ({ user, roles }) =>
          roles.map((role) => (
            <RoleLabel
              key={role.roleId}
              assignment={{ holder: { name: user.username, userId: user.id }, role, workspace: id }}
              removable={assignsRoles}
              onRemoved={reload}
            />
          )),
      },
      { id: "may", title: "Permissions", cell: ({ roles }) => <span className="quiet">{roles.map(({ summary }) => summary).join("; ")}</span> },
    ],
    [id, assignsRoles, reload],
  );
  const groupColumns = useMemo(
    (): Column<MemberGroup>[] => [
      { id: "group", title: "Group", value: ({ group }) => group.name, cell: ({ group }) => group.name },
      { id: "users", title: "Users", cell: ({ group }) => group.users.map(({ username }) => username).join(", ") },
      {
        id: "roles",
        title: "Roles",
        cell: ({ group, roles }) =>
          roles.map((role) => (
            <RoleLabel key={role.roleId} assignment={{ holder: group, role, workspace: id }} removable={assignsRoles} onRemoved={reload} />
          )),
      },
    ],
    [id, assignsRoles, reload],
  );
  return (
    <>
      <div className="row filters">
        <RolesDoNotCount rbac={rbac} />
        {rbac && !assignsRoles && <p className="quiet">To assign roles here you need the role WorkspaceAdmin in this workspace.</p>}
        <div className="actions">
          {assignsRoles && (
            <button type="button" className="primary" onClick={() => setAssigns(true)}>
              Assign role
            </button>
          )}
        </div>
      </div>
      <Loaded of={list} what="members">
        {({ members, groups }) => (
          <>
            <Table
              label="Members"
              rows={members}
              columns={columns}
              rowKey={({ user }) => user.id}
              order="user"
              empty="No members yet. Assign a role to add a member."
            />
            {groups.length > 0 && <Table label="Groups" rows={groups} columns={groupColumns} rowKey={({ group }) => group.groupId} order="group" empty="" />}
          </>
        )}
      </Loaded>
      <p className="quiet">Users with a role for the whole cluster also have access but are not listed.</p>
      {assigns && <AssignRole workspace={{ id, name }} onDone={reload} onClose={() => setAssigns(false)} />}
    </>
  );
}
