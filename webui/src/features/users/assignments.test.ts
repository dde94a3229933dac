import { expect, test } from "vitest";
import { assignmentsOf } from "./assignments";

const holder = { name: "seeing", groupId: 2 };
const editor = { roleId: 5, name: "Editor", summary: "", permissions: [] };

test("a role is listed for each place in which it holds, the whole cluster first", () => {
  const listed = assignmentsOf(holder, {
    roles: [editor],
    assignments: [
      { roleId: 5, scopeCluster: false, scopeWorkspaceIds: [3, 7] },
      { roleId: 9, scopeCluster: true, scopeWorkspaceIds: [] },
    ],
  });
  expect(listed.map(({ role, workspace }) => [role.name, workspace])).toEqual([
    ["role 9", undefined],
    ["Editor", 3],
    ["Editor", 7],
  ]);
  expect(listed.every((one) => one.holder === holder)).toBe(true);
});

test("who has no role has no entry", () => {
  expect(assignmentsOf(holder, { roles: [], assignments: [] })).toEqual([]);
});
