import { useMemo, useState } from "react";
import { get, post, put, remove } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import type { Group } from "../../api/types";
import type { User } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { capitalized, count } from "../../components/format";
import { useRights } from "../../components/people/me";
import { Field, Loaded, Pick, Problem } from "../../components/parts";
import { type Column, Table } from "../../components/tables/table";
import { RolesOf } from "./roles_of";

interface Found {
  readonly group: Pick<Group, "groupId" | "name">;
  readonly numMembers: number;
}

type Opened = { readonly what: "members" | "roles" | "rename" | "delete"; readonly found: Found };

/** Users who have roles together: for administrators. */
export function Groups() {
  const { may } = useRights();
  const [list, reload] = usePolled("groups", () => post("/api/v1/groups/search", { body: { limit: 0 } }), 5000);
  const [creates, setCreates] = useState(false);
  const [opened, setOpened] = useState<Opened>();
  const columns = useMemo((): Column<Found>[] => {
    const button = (what: Opened["what"], label: (name: string) => string) => (found: Found) => (
      <button type="button" className="text" aria-label={label(found.group.name)} onClick={() => setOpened({ what, found })}>
        {capitalized(what)}
      </button>
    );
    return [
      { id: "name", title: "Group", value: ({ group }) => group.name, cell: ({ group }) => group.name },
      { id: "users", title: "Users", number: true, value: ({ numMembers }) => numMembers, cell: ({ numMembers }) => numMembers },
      { id: "members", title: "", cell: button("members", (name) => `Members of ${name}`) },
      { id: "roles", title: "", cell: button("roles", (name) => `Roles of ${name}`) },
      { id: "rename", title: "", cell: button("rename", (name) => `Rename ${name}`) },
      { id: "delete", title: "", cell: button("delete", (name) => `Delete ${name}`) },
    ];
  }, []);
  if (!may("ADMINISTRATE_USER")) return <p className="quiet">Only administrators can manage groups. Log in as an administrator.</p>;
  const close = () => setOpened(undefined);
  return (
    <>
      <div className="row filters">
        <p className="quiet">Members of a group have its roles in addition to their own.</p>
        <div className="actions">
          <button type="button" className="primary" onClick={() => setCreates(true)}>
            New group
          </button>
        </div>
      </div>
      <Loaded of={list} what="groups">
        {({ groups }) => (
          <Table label="Groups" rows={groups} columns={columns} rowKey={({ group }) => group.groupId} order="name" empty="No groups yet." />
        )}
      </Loaded>
      {creates && <NameDialog title="New group" action="Create" onName={(name) => post("/api/v1/groups", { body: { name } })} onDone={reload} onClose={() => setCreates(false)} />}
      {opened?.what === "rename" && (
        <NameDialog
          title={`Rename group ${opened.found.group.name}`}
          action="Rename"
          before={opened.found.group.name}
          onName={(name) => put("/api/v1/groups/{groupId}", { path: { groupId: opened.found.group.groupId }, body: { name } })}
          onDone={reload}
          onClose={close}
        />
      )}
      {opened?.what === "members" && <GroupMembers group={opened.found.group} onDone={reload} onClose={close} />}
      {opened?.what === "roles" && <RolesOf holder={opened.found.group} onClose={close} />}
      {opened?.what === "delete" && (
        <Dialog
          title={`Delete group ${opened.found.group.name}?`}
          action="Delete"
          danger
          onAction={() => remove("/api/v1/groups/{groupId}", { path: { groupId: opened.found.group.groupId } }).then(reload)}
          onClose={close}
        >
          <p>{count(opened.found.numMembers, "user")} in it lose the roles of the group.</p>
        </Dialog>
      )}
    </>
  );
}

interface NameProps {
  readonly title: string;
  readonly action: string;
  readonly before?: string;
  readonly onName: (name: string) => Promise<unknown>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function NameDialog({ title, action, before = "", onName, onDone, onClose }: NameProps) {
  const [name, setName] = useState(before);
  const wanted = name.trim();
  return (
    <Dialog title={title} action={action} disabled={wanted === "" || wanted === before} onAction={() => onName(wanted).then(onDone)} onClose={onClose}>
      <Field label="Name">
        <input value={name} required autoFocus onChange={(event) => setName(event.target.value)} />
      </Field>
    </Dialog>
  );
}

interface Membership {
  readonly members: readonly User[];
  readonly others: readonly User[];
}

async function load(id: number, signal: AbortSignal): Promise<Membership> {
  const [{ group }, { users }] = await Promise.all([
    get("/api/v1/groups/{groupId}", { path: { groupId: id } }, signal),
    get("/api/v1/users", {}, signal),
  ]);
  const inside = new Set(group.users.map(({ id: user }) => user));
  return { members: group.users, others: users.filter((user) => user.active && !inside.has(user.id)) };
}

function GroupMembers({ group, onDone, onClose }: { group: Pick<Group, "groupId" | "name">; onDone: () => void; onClose: () => void }) {
  const { groupId, name } = group;
  const [loaded, reload] = usePolled(`members of group ${groupId}`, (signal) => load(groupId, signal), 0, () => false);
  const [problem, setProblem] = useState("");
  const change = (what: { addUsers?: number[]; removeUsers?: number[] }) => {
    setProblem("");
    put("/api/v1/groups/{groupId}", { path: { groupId }, body: what }).then(
      () => {
        reload();
        onDone();
      },
      (cause: unknown) => setProblem(toApiError(cause).message),
    );
  };
  return (
    <Dialog title={`Members of ${name}`} action="OK" onAction={() => undefined} onClose={onClose}>
      <Loaded of={loaded} what="members">
        {({ members, others }) => (
          <>
            {members.length === 0 && <p className="quiet">No members.</p>}
            <ul className="subjects" aria-label={`Members of ${name}`}>
              {members.map(({ id, username }) => (
                <li key={id}>
                  <span className="label">
                    {username}
                    <button type="button" className="text" aria-label={`Remove ${username} from ${name}`} onClick={() => change({ removeUsers: [id] })}>
                      ×
                    </button>
                  </span>
                </li>
              ))}
            </ul>
            <Pick
              label="Add a user"
              asks
              value={0}
              options={others.map(({ id, username }) => ({ id, name: username }))}
              onChange={(id) => change({ addUsers: [id] })}
            />
          </>
        )}
      </Loaded>
      <Problem text={problem} />
    </Dialog>
  );
}
