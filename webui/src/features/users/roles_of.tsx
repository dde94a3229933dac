import { useState } from "react";
import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { listWorkspaces } from "../../api/places";
import type { RoleWithAssignments } from "../../api/team_types";
import type { User } from "../../api/types";
import { Dialog } from "../../components/dialog";
import { useRights } from "../../components/me";
import { Loaded } from "../../components/parts";
import { AssignRole, type Assignment, RoleLabel, RolesDoNotCount } from "../../components/roles";

interface Roles {
  readonly assignments: readonly Assignment[];
  readonly names: ReadonlyMap<number, string>;
}

async function load(user: User, signal: AbortSignal): Promise<Roles> {
  const [{ roles }, workspaces] = await Promise.all([
    get<{ roles: readonly RoleWithAssignments[] }>(`roles/search/by-user/${user.id}`, {}, signal),
    listWorkspaces(undefined, signal),
  ]);
  const assignments = roles.flatMap(({ role, userRoleAssignments }) =>
    userRoleAssignments.map(({ userId, roleAssignment }) => ({ userId, role, workspace: roleAssignment.scopeWorkspaceId ?? undefined })),
  );
  return { assignments, names: new Map(workspaces.map(({ id, name }) => [id, name])) };
}

/** The roles of a user everywhere: to look at, to give, to take away. */
export function UserRoles({ user, onClose }: { user: User; onClose: () => void }) {
  const { rbac } = useRights();
  const [loaded, reload] = usePolled(`roles of ${user.id}`, (signal) => load(user, signal), 0, () => false);
  const [assigns, setAssigns] = useState(false);
  return (
    <>
      <Dialog title={`Roles of ${user.username}`} action="OK" onAction={() => undefined} onClose={onClose}>
        <RolesDoNotCount rbac={rbac} />
        <Loaded of={loaded} what="roles">
          {({ assignments, names }) =>
            assignments.length === 0 ? (
              <p className="quiet">{user.username} has no role.</p>
            ) : (
              <ul className="subjects" aria-label={`Roles of ${user.username}`}>
                {assignments.map((assignment) => (
                  <li key={`${assignment.role.roleId} ${assignment.workspace ?? ""}`}>
                    <RoleLabel
                      assignment={assignment}
                      username={user.username}
                      where={
                        assignment.workspace === undefined
                          ? "for the whole cluster"
                          : `in ${names.get(assignment.workspace) ?? `workspace ${assignment.workspace}`}`
                      }
                      removable
                      onRemoved={reload}
                    />
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
        <button type="button" onClick={() => setAssigns(true)}>
          Assign role
        </button>
      </Dialog>
      {assigns && <AssignRole user={user} onDone={reload} onClose={() => setAssigns(false)} />}
    </>
  );
}
