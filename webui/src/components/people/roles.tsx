import { useState } from "react";
import { get, post } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { listWorkspaces } from "../../api/places";
import type { Role } from "../../api/types";
import { Dialog } from "../forms/dialog";
import { Field, Loaded, Pick } from "../parts";

/** Who has roles: a user or a group. */
export interface Holder {
  readonly name: string;
  readonly userId?: number;
  readonly groupId?: number;
}

/** A role of somebody, in a workspace or (absent) for the whole cluster. */
export interface Assignment {
  readonly holder: Holder;
  readonly role: Pick<Role, "roleId" | "name">;
  readonly workspace?: number | undefined;
}

const isSame = (one: Holder, other: Holder | undefined) => one.userId === other?.userId && one.groupId === other?.groupId;

async function change(verb: "add" | "remove", { holder, role, workspace }: Assignment): Promise<void> {
  const scope = workspace === undefined ? { scopeCluster: true } : { scopeWorkspaceId: workspace };
  const roleAssignment = { role: { roleId: role.roleId }, ...scope };
  const { userId, groupId } = holder;
  const path = verb === "add" ? "/api/v1/roles/add-assignments" : "/api/v1/roles/remove-assignments";
  await post(path, {
    body: {
      ...(userId === undefined ? {} : { userRoleAssignments: [{ userId, roleAssignment }] }),
      ...(groupId === undefined ? {} : { groupRoleAssignments: [{ groupId, roleAssignment }] }),
    },
  });
}

interface RoleLabelProps {
  readonly assignment: Assignment;
  /** Where it holds, if the page does not say so anyway. */
  readonly where?: string;
  readonly removable: boolean;
  readonly onRemoved: () => void;
}

/** A role that someone has, with a button that takes it away after a question. */
export function RoleLabel({ assignment, where = "", removable, onRemoved }: RoleLabelProps) {
  const [asks, setAsks] = useState(false);
  const { holder, role } = assignment;
  const held = where === "" ? role.name : `${role.name} ${where}`;
  const takes = `Remove role ${held} from ${holder.name}`;
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
          action="Remove"
          danger
          onAction={() => change("remove", assignment).then(onRemoved)}
          onClose={() => setAsks(false)}
        >
          <p>Workloads that {holder.name} started keep running. You can assign the role again.</p>
        </Dialog>
      )}
    </span>
  );
}

interface AssignRoleProps {
  /** For whom; absent: it is asked. */
  readonly holder?: Holder;
  /** Where; absent: it is asked, the whole cluster can be chosen, too. */
  readonly workspace?: { readonly id: number; readonly name: string };
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Who can be given a role: groups, then users, by name. */
async function loadHolders(signal: AbortSignal): Promise<Holder[]> {
  const [{ groups }, { users }] = await Promise.all([
    post("/api/v1/groups/search", { body: { limit: 0 } }),
    get("/api/v1/users", {}, signal),
  ]);
  return [
    ...groups.map(({ group: { groupId, name } }) => ({ name, groupId })),
    ...users.filter(({ active }) => active).map(({ id, username }) => ({ name: username, userId: id })),
  ];
}

/** Asks who gets which role where. */
export function AssignRole({ holder: given, workspace, onDone, onClose }: AssignRoleProps) {
  const [chosen, setChosen] = useState<Holder | undefined>(given);
  const [scope, setScope] = useState(workspace?.id ?? 0);
  const [roleId, setRoleId] = useState(0);
  const [choices] = usePolled(
    `assignable ${scope}`,
    async (signal) => ({
      holders: given === undefined ? await loadHolders(signal) : [],
      workspaces: workspace === undefined ? await listWorkspaces(undefined, signal) : [],
      roles: (await post("/api/v1/roles/search/by-assignability", { body: { workspaceId: scope } })).roles as readonly Role[],
    }),
    0,
    () => false,
  );
  const roles = choices.status === "loaded" ? choices.value.roles : [];
  const role = roles.find((one) => one.roleId === roleId);
  const assign = async () => {
    if (role !== undefined && chosen !== undefined) await change("add", { holder: chosen, role, workspace: scope === 0 ? undefined : scope });
    onDone();
  };
  const where = workspace === undefined ? "" : ` in ${workspace.name}`;
  return (
    <Dialog
      title={given === undefined ? `Assign a role${where}` : `Assign a role to ${given.name}${where}`}
      action="Assign"
      disabled={chosen === undefined || role === undefined}
      onAction={assign}
      onClose={onClose}
    >
      {given === undefined && choices.status === "loaded" && (
        <Field label="User or group">
          <select value={choices.value.holders.findIndex((one) => isSame(one, chosen))} autoFocus onChange={(event) => setChosen(choices.value.holders[Number(event.target.value)])}>
            <option value={-1}>Select …</option>
            {choices.value.holders.map(({ name, groupId }, index) => (
              <option key={index} value={index}>
                {groupId === undefined ? name : `group ${name}`}
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
          <Pick label="Role" asks value={role?.roleId ?? 0} options={roles.map(({ roleId: id, name }) => ({ id, name }))} onChange={setRoleId} />
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
      Roles are not enforced: every user can see and change everything. Assign roles first, then start the master with <code>--authz rbac</code>.
    </p>
  );
}
