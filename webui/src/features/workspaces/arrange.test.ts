import { expect, test } from "vitest";
import { archivedFilter, found, groupsOf, membersOf, pinnedFirst } from "./arrange";

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

const user = (id: number, username: string) => ({ id, username, admin: false, active: true });
const role = (roleId: number, name: string) => ({ roleId, name, permissions: [], summary: "" });

test("groups are by name, each with all its roles there", () => {
  const groups = groupsOf({
    usersAssignedDirectly: [],
    groups: [
      { groupId: 2, name: "speech", users: [] },
      { groupId: 1, name: "seeing", users: [user(4, "ann")] },
    ],
    assignments: [
      { role: role(4, "Viewer"), userRoleAssignments: [], groupRoleAssignments: [{ groupId: 1 }, { groupId: 2 }] },
      { role: role(5, "Editor"), userRoleAssignments: [], groupRoleAssignments: [{ groupId: 1 }] },
    ],
  });
  expect(groups.map(({ group, roles }) => [group.name, roles.map(({ name }) => name)])).toEqual([
    ["seeing", ["Viewer", "Editor"]],
    ["speech", ["Viewer"]],
  ]);
});

test("members are by name, each with all its roles there", () => {
  const has = (userId: number, roleId: number) => ({ userId, roleAssignment: { role: { roleId }, scopeCluster: false, scopeWorkspaceId: 2 } });
  const members = membersOf({
    usersAssignedDirectly: [user(5, "zoe"), user(4, "ann")],
    groups: [],
    assignments: [
      { role: role(2, "WorkspaceAdmin"), userRoleAssignments: [has(5, 2)], groupRoleAssignments: [] },
      { role: role(5, "Editor"), userRoleAssignments: [has(4, 5), has(5, 5)], groupRoleAssignments: [] },
    ],
  });
  expect(members.map((member) => [member.user.username, member.roles.map(({ name }) => name)])).toEqual([
    ["ann", ["Editor"]],
    ["zoe", ["WorkspaceAdmin", "Editor"]],
  ]);
});
