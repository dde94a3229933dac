import { useState } from "react";
import { get } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { listWorkspaces } from "../../api/places";
import type { Permissions, RoleWithAssignments } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { useRights } from "../../components/people/me";
import { Loaded } from "../../components/parts";
import { AssignRole, type Assignment, type Holder, RoleLabel, RolesDoNotCount } from "../../components/people/roles";
import { assignmentsOf } from "./assignments";

interface Roles {
  readonly assignments: readonly Assignment[];
  readonly names: ReadonlyMap<number, string>;
}

async function assignments(holder: Holder, signal: AbortSignal): Promise<Assignment[]> {
  if (holder.groupId !== undefined)
    return assignmentsOf(holder, (await get("/api/v1/roles/search/by-group/{groupId}", { path: { groupId: holder.groupId } }, signal)) as Permissions);
  if (holder.userId === undefined) return [];
  const { roles } = await get("/api/v1/roles/search/by-user/{userId}", { path: { userId: holder.userId } }, signal);
  return (roles as readonly RoleWithAssignments[]).flatMap(({ role, userRoleAssignments }) =>
    userRoleAssignments.map(({ roleAssignment }) => ({ holder, role, workspace: roleAssignment.scopeWorkspaceId ?? undefined })),
  );
}

async function load(holder: Holder, signal: AbortSignal): Promise<Roles> {
  const [all, workspaces] = await Promise.all([assignments(holder, signal), listWorkspaces(undefined, signal)]);
  return { assignments: all, names: new Map(workspaces.map(({ id, name }) => [id, name])) };
}

/** The roles of a user or a group everywhere: to look at, to give, to take away. */
export function RolesOf({ holder, onClose }: { holder: Holder; onClose: () => void }) {
  const { name } = holder;
  const { rbac } = useRights();
  const [loaded, reload] = usePolled(`roles of ${name}`, (signal) => load(holder, signal), 0, () => false);
  const [assigns, setAssigns] = useState(false);
  return (
    <>
      <Dialog title={`Roles of ${name}`} action="OK" onAction={() => undefined} onClose={onClose}>
        <RolesDoNotCount rbac={rbac} />
        <Loaded of={loaded} what="roles">
          {({ assignments: all, names }) =>
            all.length === 0 ? (
              <p className="quiet">{name} has no roles.</p>
            ) : (
              <ul className="subjects" aria-label={`Roles of ${name}`}>
                {all.map((assignment) => (
                  <li key={`${assignment.role.roleId} ${assignment.workspace ?? ""}`}>
                    <RoleLabel
                      assignment={assignment}
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
      {assigns && <AssignRole holder={holder} onDone={reload} onClose={() => setAssigns(false)} />}
    </>
  );
}
