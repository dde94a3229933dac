import { expect, test } from "vitest";
import { archivedFilter, found, membersOf, pinnedFirst } from "./arrange";

test.each([
  ["", ["vision"], true],
  ["VIS", ["vision"], true],
  ["vis ann", ["vision", "ann"], true],
  ["vis bob", ["vision", "ann"], false],
])("the search %j in %j: %s", (search, texts, expected) => {
  expect(found(search, ...texts)).toBe(expected);
});

test("what is pinned comes first, the rest by name whatever the case", () => {
  const list = [
    { name: "b", pinned: false },
    { name: "A", pinned: false },
    { name: "z", pinned: true },
  ];
  const names = list.sort((x, y) => (pinnedFirst(x) < pinnedFirst(y) ? -1 : 1)).map(({ name }) => name);
  expect(names).toEqual(["z", "A", "b"]);
});

test("the choice archived is a question to the master", () => {
  expect(["", "yes", "all"].map(archivedFilter)).toEqual([false, true, undefined]);
});

test("members are by name, each with all its roles there", () => {
  const user = (id: number, username: string) => ({ id, username, admin: false, active: true });
  const role = (roleId: number, name: string) => ({ roleId, name, permissions: [], summary: "" });
  const has = (userId: number, roleId: number) => ({ userId, roleAssignment: { role: { roleId }, scopeCluster: false, scopeWorkspaceId: 2 } });
  const members = membersOf({
    usersAssignedDirectly: [user(5, "zoe"), user(4, "ann")],
    assignments: [
      { role: role(2, "WorkspaceAdmin"), userRoleAssignments: [has(5, 2)] },
      { role: role(5, "Editor"), userRoleAssignments: [has(4, 5), has(5, 5)] },
    ],
  });
  expect(members.map((member) => [member.user.username, member.roles.map(({ name }) => name)])).toEqual([
    ["ann", ["Editor"]],
    ["zoe", ["WorkspaceAdmin", "Editor"]],
  ]);
});
