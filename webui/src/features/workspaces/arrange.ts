/** Workspaces, projects and members as the pages show them. Pure. */

import type { Group, Members, Role, Workspace } from "../../api/types";
import type { User } from "../../api/types";

/** What the choice "archived" of a list asks the master for. */
export function archivedFilter(choice: string): boolean | undefined {
  return choice === "all" ? undefined : choice === "yes";
}

/** Whether each word of the search is in one of the texts, whatever the case. */
export function found(search: string, ...texts: readonly string[]): boolean {
  const all = texts.map((text) => text.toLowerCase());
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.some((text) => text.includes(word)));
}

/** Sorts by name, what is pinned before the rest. */
export function pinnedFirst({ name, pinned }: Pick<Workspace, "name" | "pinned">): string {
  return `${pinned ? "\u0000" : "\u0001"}${name.toLowerCase()}`;
}

export interface Member {
  readonly user: User;
  readonly roles: readonly Role[];
}

/** Who has which roles, by name. */
export function membersOf({ usersAssignedDirectly, assignments }: Members): Member[] {
  return [...usersAssignedDirectly]
    .sort((a, b) => a.username.localeCompare(b.username))
    .map((user) => ({
      user,
      roles: assignments.filter(({ userRoleAssignments }) => userRoleAssignments.some(({ userId }) => userId === user.id)).map(({ role }) => role),
    }));
}

export interface MemberGroup {
  readonly group: Group;
  readonly roles: readonly Role[];
}

/** Which groups have which roles, by name. */
export function groupsOf({ groups, assignments }: Members): MemberGroup[] {
  return [...groups]
    .sort((a, b) => a.name.localeCompare(b.name))
    .map((group) => ({
      group,
      roles: assignments.filter(({ groupRoleAssignments }) => groupRoleAssignments.some(({ groupId }) => groupId === group.groupId)).map(({ role }) => role),
    }));
}
