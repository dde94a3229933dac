import { useState } from "react";
import { get, post } from "../api/client";
import { usePolled } from "../api/loadable";
import { listWorkspaces } from "../api/places";
import type { Role } from "../api/team_types";
import type { User } from "../api/types";
import { Dialog } from "./dialog";
import { Field, Loaded } from "./parts";

/** A role of a user, in a workspace or (absent) for the whole cluster. */
export interface Assignment {
  readonly userId: number;
  readonly role: Pick<Role, "roleId" | "name">;
  readonly workspace?: number | undefined;
}

async function change(verb: "add" | "remove", { userId, role, workspace }: Assignment): Promise<void> {
  const scope = workspace === undefined ? { scopeCluster: true } : { scopeWorkspaceId: workspace };
  await post(`roles/${verb}-assignments`, { userRoleAssignments: [{ userId, roleAssignment: { role: { roleId: role.roleId }, ...scope } }] });
}

interface RoleLabelProps {
  readonly assignment: Assignment;
  readonly username: string;
  /** Where it holds, if the page does not say so anyway. */
  readonly where?: string;
  readonly removable: boolean;
  readonly onRemoved: () => void;
}

/** A role that someone has, with a button that takes it away after a question. */
export function RoleLabel({ assignment, username, where = "", removable, onRemoved }: RoleLabelProps) {
  const [asks, setAsks] = useState(false);
  const { role } = assignment;
  const held = where === "" ? role.name : `${role.name} ${where}`;
  const takes = `Take the role ${held} from ${username}`;
  return (
    <span className="label">
      {held}
      {removable && (
        <button type="button" className="text" aria-label={takes} onClick={() => setAsks(true)}>
          ×
        </button>
      )}
      {asks && (
        <Dialog
          title={`${takes}?`}
          action="take away"
          danger
          onAction={() => change("remove", assignment).then(onRemoved)}
          onClose={() => setAsks(false)}
        >
          <p>What {username} started goes on. The role can be assigned again.</p>
        </Dialog>
      )}
    </span>
  );
}

interface AssignRoleProps {
  /** For whom; absent: it is asked. */
  readonly user?: User;
  /** Where; absent: it is asked, the whole cluster can be chosen, too. */
  readonly workspace?: { readonly id: number; readonly name: string };
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks who gets which role where. */
export function AssignRole({ user, workspace, onDone, onClose }: AssignRoleProps) {
  const [userId, setUserId] = useState(user?.id ?? 0);
  const [scope, setScope] = useState(workspace?.id ?? 0);
  const [roleId, setRoleId] = useState(0);
  const [choices] = usePolled(
    `assignable ${scope}`,
    async (signal) => ({
      users: user === undefined ? (await get<{ users: readonly User[] }>("users", {}, signal)).users : [user],
      workspaces: workspace === undefined ? await listWorkspaces(undefined, signal) : [],
      roles: (await post<{ roles: readonly Role[] }>("roles/search/by-assignability", { workspaceId: scope })).roles,
    }),
    0,
    () => false,
  );
  const roles = choices.status === "loaded" ? choices.value.roles : [];
  const role = roles.find((one) => one.roleId === roleId);
  const assign = async () => {
    if (role !== undefined) await change("add", { userId, role, workspace: scope === 0 ? undefined : scope });
    onDone();
  };
  const where = workspace === undefined ? "" : ` in ${workspace.name}`;
  return (
    <Dialog
      title={user === undefined ? `Assign a role${where}` : `Assign a role to ${user.username}${where}`}
      action="Assign"
      disabled={userId === 0 || role === undefined}
      onAction={assign}
      onClose={onClose}
    >
      {user === undefined && choices.status === "loaded" && (
        <Field label="User">
          <select value={userId} autoFocus onChange={(event) => setUserId(Number(event.target.value))}>
            <option value={0}>choose …</option>
            {choices.value.users
              .filter(({ active }) => active)
              .map(({ id, username }) => (
                <option key={id} value={id}>
                  {username}
                </option>
              ))}
          </select>
        </Field>
      )}
      {workspace === undefined && choices.status === "loaded" && (
        <Field label="Where">
          <select value={scope} autoFocus onChange={(event) => setScope(Number(event.target.value))}>
            <option value={0}>the whole cluster</option>
            {choices.value.workspaces.map(({ id, name }) => (
              <option key={id} value={id}>
                workspace {name}
              </option>
            ))}
          </select>
        </Field>
      )}
      <Loaded of={choices} what="roles">
        {() => (
          <Field label="Role">
            <select value={role?.roleId ?? 0} onChange={(event) => setRoleId(Number(event.target.value))}>
              <option value={0}>choose …</option>
              {roles.map(({ roleId: id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </Field>
        )}
      </Loaded>
      {role !== undefined && <p className="quiet">{role.name}: {role.summary}</p>}
    </Dialog>
  );
}

/** What to know where the master does not enforce roles. */
export function RolesDoNotCount({ rbac }: { rbac: boolean }) {
  return rbac ? null : (
    <p className="quiet">
      Roles do not count yet: this master lets everybody see and change everything. Administrators assign them first, then the
      master is started with <code>--authz rbac</code>.
    </p>
  );
}
