import { expect, test } from "vitest";
import type { Permissions } from "../../api/types";
import table from "../../../../src/access/permission.cpp?raw";
import { basic, clusterOnly, type Permission, rightsOf, type Subject, wire } from "./rights";

const ann = { id: 4, username: "ann", admin: false, active: true };
const admin = { id: 1, username: "admin", admin: true, active: true };

test.each<[string, typeof ann, Permission, Subject, boolean]>([
  ["everybody makes projects", ann, "CREATE_PROJECT", { workspace: 2 }, true],
  ["the owner changes a workspace", ann, "UPDATE_WORKSPACE", { workspace: 2, owners: [4] }, true],
  ["the owner of its workspace changes a project", ann, "UPDATE_PROJECT", { workspace: 2, owners: [9, 4] }, true],
  ["others do not", ann, "UPDATE_WORKSPACE", { workspace: 2, owners: [5] }, false],
  ["an administrator does", admin, "UPDATE_WORKSPACE", { workspace: 2, owners: [5] }, true],
  ["what nobody owns is the administrators'", ann, "EDIT_WEBHOOKS", {}, false],
  ["the owner changes the policies of a workspace", ann, "MODIFY_WORKSPACE_CONFIG_POLICIES", { workspace: 2, owners: [4] }, true],
  ["but not those of the cluster", ann, "MODIFY_GLOBAL_CONFIG_POLICIES", {}, false],
  ["everybody pauses and kills experiments", ann, "UPDATE_EXPERIMENT", { workspace: 2, owners: [5] }, true],
  ["their owner deletes them", ann, "DELETE_EXPERIMENT", { workspace: 2, owners: [4] }, true],
  ["others do not delete them", ann, "DELETE_EXPERIMENT", { workspace: 2, owners: [5] }, false],
  ["everybody starts tasks", ann, "CREATE_NSC", { workspace: 2 }, true],
  ["and kills those of others", ann, "UPDATE_NSC", { workspace: 2, owners: [5] }, true],
  ["everybody describes models", ann, "EDIT_MODEL_REGISTRY", { workspace: 2, owners: [5] }, true],
  ["their owner deletes them", ann, "DELETE_MODEL_REGISTRY", { workspace: 2, owners: [5] }, false],
  ["the audit log is for administrators", ann, "VIEW_MASTER_CONFIG", {}, false],
  ["and is for them", admin, "VIEW_MASTER_CONFIG", {}, true],
])("without roles: %s", (_, user, permission, subject, allowed) => {
  expect(rightsOf(user, false, undefined).may(permission, subject)).toBe(allowed);
});

const role = (roleId: number, ...permissions: string[]) => ({
  roleId,
  name: `role ${roleId}`,
  summary: "",
  permissions: permissions.map((id) => ({ id: `PERMISSION_TYPE_${id}` })),
});
const summary: Permissions = {
  roles: [
    role(5, "UPDATE_PROJECT", "CREATE_PROJECT", "UPDATE_EXPERIMENT", "DELETE_MODEL_REGISTRY"),
    role(7, "CREATE_WORKSPACE"),
    role(8, "DELETE_OTHER_USER_MODEL_REGISTRY", "UPDATE_AGENTS"),
  ],
  assignments: [
    { roleId: 8, scopeCluster: false, scopeWorkspaceIds: [6] },
    { roleId: 5, scopeCluster: false, scopeWorkspaceIds: [2, 3] },
    { roleId: 7, scopeCluster: true, scopeWorkspaceIds: [] },
  ],
};

test.each<[string, Permission, Subject, boolean]>([
  ["a role counts in its workspaces", "UPDATE_PROJECT", { workspace: 3 }, true],
  ["and in no other, not even the owner's", "UPDATE_PROJECT", { workspace: 4, owners: [4] }, false],
  ["nor for the cluster", "UPDATE_PROJECT", {}, false],
  ["a role for the cluster counts everywhere", "CREATE_WORKSPACE", { workspace: 9 }, true],
  ["who may change experiments may change those of others", "UPDATE_EXPERIMENT", { workspace: 2, owners: [9] }, true],
  ["but not one elsewhere", "UPDATE_EXPERIMENT", { workspace: 4, owners: [4] }, false],
  ["one's own model is deleted", "DELETE_MODEL_REGISTRY", { workspace: 2, owners: [4] }, true],
  ["that of others is not", "DELETE_MODEL_REGISTRY", { workspace: 2, owners: [9] }, false],
  ["except by whom that is granted", "DELETE_MODEL_REGISTRY", { workspace: 6, owners: [9] }, true],
  ["who may delete what others made may not delete what is one's own", "DELETE_MODEL_REGISTRY", { workspace: 6, owners: [4] }, false],
  ["what is the cluster's is granted by no role in a workspace", "UPDATE_AGENTS", { workspace: 6 }, false],
  ["what no role grants is not granted", "ASSIGN_ROLES", { workspace: 2 }, false],
])("with roles: %s", (_, permission, subject, allowed) => {
  expect(rightsOf(ann, true, summary).may(permission, subject)).toBe(allowed);
});

test("with roles the flag of administrators counts no more", () => {
  expect(rightsOf(admin, true, { roles: [], assignments: [] }).may("ADMINISTRATE_USER")).toBe(false);
});

test("until the roles are known nothing is kept from anybody: the master decides", () => {
  expect(rightsOf(ann, true, undefined).may("ASSIGN_ROLES", { workspace: 2 })).toBe(true);
});

test.each<[string, Permission, boolean]>([
  ["in one of its workspaces", "CREATE_PROJECT", true],
  ["for the cluster", "CREATE_WORKSPACE", true],
  ["nowhere", "CREATE_NSC", false],
])("with roles something may be allowed %s", (_, permission, allowed) => {
  expect(rightsOf(ann, true, summary).mayAnywhere(permission)).toBe(allowed);
});

test("without roles everybody starts tasks somewhere", () => {
  expect(rightsOf(ann, false, undefined).mayAnywhere("CREATE_NSC")).toBe(true);
});

/** What the master says of each: {UpdateAgents, "PERMISSION_TYPE_UPDATE_AGENTS", "change agents of", Admin, true}. */
const decided = [...table.matchAll(/\{(\w+),\s*"PERMISSION_TYPE_(\w+)",\s*(?:"[^"]*"\s*)+,\s*(\w+)(,\s*true)?\}/g)].map(([, name = "", id = "", who = "", only]) => ({
  name: name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase(),
  id,
  who: who.toLowerCase(),
  clusterOnly: only !== undefined,
}));

test.each(Object.entries(basic))("%s is what the master takes it for", (permission, who) => {
  const id = wire[permission as Permission]?.own ?? permission;
  const found = decided.find((one) => one.id === id && (one.name === permission || id === permission));
  expect(found).toMatchObject({ id, who, clusterOnly: clusterOnly.includes(permission as Permission) });
});
