import { useMemo, useState } from "react";
import { get, patch, post } from "../../api/client";
import { toApiError, usePolled } from "../../api/loadable";
import type { User } from "../../api/types";
import { Dialog } from "../../components/forms/dialog";
import { useMe, useRights } from "../../components/people/me";
import { Age, Field, Loaded, PageHead, Problem } from "../../components/parts";
import { type Column, Table } from "../../components/tables/table";
import { type UserTab, userTabs } from "../../components/address/paths";
import { Link, Tabs } from "../../components/address/route";
import { AllTokens } from "./all_tokens";
import { Groups } from "./groups";
import { passwordProblem } from "./password";
import { RolesOf } from "./roles_of";

type Change = Partial<Pick<User, "admin" | "active" | "displayName">> & { readonly password?: string; readonly isHashed?: boolean };

const change = (user: User, what: Change) => patch("/api/v1/users/{userId}", { path: { userId: user.id }, body: what });

const tabNames: Readonly<Record<UserTab, string>> = { users: "users", groups: "groups", tokens: "access tokens" };

/** Who may use the cluster, and how: for administrators. */
export function UsersPage({ tab }: { tab: UserTab }) {
  return (
    <>
      <PageHead title="Users" />
      <Tabs label="User sections">
        {userTabs.map((name) => (
          <Link key={name} to={{ page: "users", tab: name }} current={name === tab}>
            {tabNames[name]}
          </Link>
        ))}
      </Tabs>
      {tab === "users" && <Users />}
      {tab === "groups" && <Groups />}
      {tab === "tokens" && <AllTokens />}
    </>
  );
}

function Users() {
  const me = useMe();
  const { may, rbac } = useRights();
  const [list, reload] = usePolled("users", (signal) => get("/api/v1/users", {}, signal), 5000);
  const [creates, setCreates] = useState(false);
  const [opened, setOpened] = useState<User>();
  const [renamed, setRenamed] = useState<User>();
  const [roleful, setRoleful] = useState<User>();
  const [problem, setProblem] = useState("");
  const columns = useMemo((): Column<User>[] => {
    const set = (user: User, what: Change) => {
      setProblem("");
      change(user, what).then(reload, (cause: unknown) => setProblem(toApiError(cause).message));
    };
    return [
      { id: "name", title: "User", value: ({ username }) => username, cell: ({ username }) => username },
      {
        id: "display",
        title: "Display name",
        value: ({ displayName }) => displayName,
        cell: (user) => (
          <span className="editable">
            {user.displayName}{" "}
            <button
              type="button"
              className="text pencil"
              aria-label={`Edit the display name of ${user.username}`}
              title="Edit the display name"
              onClick={() => setRenamed(user)}
            >
              ✎
            </button>
          </span>
        ),
      },
      {
        id: "admin",
        title: rbac ? "Administrator flag" : "Administrator",
        ...(rbac ? { hint: "Not used while roles are enforced. Assign the role ClusterAdmin instead." } : {}),
        value: ({ admin }) => Number(admin),
        cell: (user) => (
          <input
            type="checkbox"
            aria-label={`${user.username} is administrator`}
            checked={user.admin}
            disabled={user.id === me.id}
            onChange={(event) => set(user, { admin: event.target.checked })}
          />
        ),
      },
      {
        id: "active",
        title: "Active",
        value: ({ active }) => Number(active),
        cell: (user) => (
          <input
            type="checkbox"
            aria-label={`${user.username} is active`}
            checked={user.active}
            disabled={user.id === me.id}
            onChange={(event) => set(user, { active: event.target.checked })}
          />
        ),
      },
      { id: "changed", title: "Changed", value: ({ modifiedAt }) => Date.parse(modifiedAt ?? ""), cell: ({ modifiedAt }) => <Age time={modifiedAt} /> },
      {
        id: "password",
        title: "",
        cell: (user) => (
          <button type="button" className="text" aria-label={`Set password of ${user.username}`} onClick={() => setOpened(user)}>
            Set password
          </button>
        ),
      },
      {
        id: "roles",
        title: "",
        cell: (user) => (
          <button type="button" className="text" aria-label={`Roles of ${user.username}`} onClick={() => setRoleful(user)}>
            Roles
          </button>
        ),
      },
    ];
  }, [me.id, rbac, reload]);
  if (!may("ADMINISTRATE_USER"))
    return <p className="quiet">Only administrators can manage users. Log in as an administrator.</p>;
  return (
    <>
      <div className="row filters">
        <div className="actions">
          <button type="button" className="primary" onClick={() => setCreates(true)}>
            New user
          </button>
        </div>
      </div>
      <Problem text={problem} />
      <Loaded of={list} what="users">
        {({ users }) => <Table label="Users" rows={users} columns={columns} rowKey={({ id }) => id} order="name" empty="No users." />}
      </Loaded>
      {creates && <NewUser onDone={reload} onClose={() => setCreates(false)} />}
      {opened !== undefined && <PasswordDialog user={opened} onClose={() => setOpened(undefined)} />}
      {renamed !== undefined && <RenameDialog user={renamed} onDone={reload} onClose={() => setRenamed(undefined)} />}
      {roleful !== undefined && <RolesOf holder={{ name: roleful.username, userId: roleful.id }} onClose={() => setRoleful(undefined)} />}
    </>
  );
}

function NewUser({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [admin, setAdmin] = useState(false);
  const create = async () => {
    await post("/api/v1/users", { body: { user: { username: username.trim(), admin, active: true }, password, isHashed: false } });
    onDone();
  };
  return (
    <Dialog title="New user" action="Create" disabled={username.trim() === ""} onAction={create} onClose={onClose}>
      <Field label="Name">
        <input value={username} required autoFocus autoComplete="off" onChange={(event) => setUsername(event.target.value)} />
      </Field>
      <Field label="Password (optional)">
        <input type="password" value={password} autoComplete="new-password" onChange={(event) => setPassword(event.target.value)} />
      </Field>
      <label className="check">
        <input type="checkbox" checked={admin} onChange={(event) => setAdmin(event.target.checked)} /> administrator
      </label>
    </Dialog>
  );
}

function PasswordDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const problem = passwordProblem(password, again);
  return (
    <Dialog
      title={`Password of ${user.username}`}
      action="Set"
      disabled={problem !== ""}
      onAction={() => change(user, { password, isHashed: false }).then(() => undefined)}
      onClose={onClose}
    >
      <Field label="New password">
        <input type="password" value={password} required autoFocus autoComplete="new-password" onChange={(event) => setPassword(event.target.value)} />
      </Field>
      <Field label="Repeat password">
        <input type="password" value={again} required autoComplete="new-password" onChange={(event) => setAgain(event.target.value)} />
      </Field>
      {again !== "" && <Problem text={problem} />}
    </Dialog>
  );
}

function RenameDialog({ user, onDone, onClose }: { user: User; onDone: () => void; onClose: () => void }) {
  const [name, setName] = useState(user.displayName ?? "");
  return (
    <Dialog
      title={`Display name of ${user.username}`}
      action="Save"
      onAction={() => change(user, { displayName: name.trim() }).then(onDone)}
      onClose={onClose}
    >
      <Field label="Display name (empty: same as username)">
        <input value={name} autoFocus autoComplete="off" onChange={(event) => setName(event.target.value)} />
      </Field>
    </Dialog>
  );
}
