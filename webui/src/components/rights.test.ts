import { expect, test } from "vitest";
import type { PermissionsSummary } from "../api/team_types";
import { type Permission, rightsOf, type Subject } from "./rights";

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
  ["the audit log is for administrators", ann, "VIEW_MASTER_CONFIG", {}, false],
  ["and is for them", admin, "VIEW_MASTER_CONFIG", {}, true],
])("without roles: %s", (_, user, permission, subject, allowed) => {
  expect(rightsOf(user, false, undefined).may(permission, subject)).toBe(allowed);
});

const role = (roleId: number, ...permissions: Permission[]) => ({
  roleId,
  name: `role ${roleId}`,
  summary: "",
  permissions: permissions.map((id) => ({ id: `PERMISSION_TYPE_${id}` })),
});
const summary: PermissionsSummary = {
  roles: [role(5, "UPDATE_PROJECT", "CREATE_PROJECT"), role(7, "CREATE_WORKSPACE")],
  assignments: [
    { roleId: 5, scopeCluster: false, scopeWorkspaceIds: [2, 3] },
    { roleId: 7, scopeCluster: true, scopeWorkspaceIds: [] },
  ],
};

test.each<[string, Permission, Subject, boolean]>([
  ["a role counts in its workspaces", "UPDATE_PROJECT", { workspace: 3 }, true],
  ["and in no other, not even the owner's", "UPDATE_PROJECT", { workspace: 4, owners: [4] }, false],
  ["nor for the cluster", "UPDATE_PROJECT", {}, false],
  ["a role for the cluster counts everywhere", "CREATE_WORKSPACE", { workspace: 9 }, true],
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
