/**
 * What a user may do, as far as a page can know: it offers only that. The master decides; what it refuses all the
 * same, it says why. Pure.
 */

import type { PermissionsSummary } from "../api/team_types";
import type { User } from "../api/types";

/** Who may, where the master enforces no roles: everybody, the owner of the thing, or administrators only. */
const basic = {
  CREATE_WORKSPACE: "anyone",
  UPDATE_WORKSPACE: "owner",
  DELETE_WORKSPACE: "owner",
  CREATE_PROJECT: "anyone",
  UPDATE_PROJECT: "owner",
  DELETE_PROJECT: "owner",
  UPDATE_EXPERIMENT: "anyone",
  ASSIGN_ROLES: "admin",
  CREATE_TEMPLATES: "anyone",
  UPDATE_TEMPLATES: "anyone",
  DELETE_TEMPLATES: "anyone",
  EDIT_WEBHOOKS: "owner",
  VIEW_MASTER_CONFIG: "admin",
  VIEW_CLUSTER_USAGE: "anyone",
  UPDATE_AGENTS: "admin",
  CREATE_TOKEN: "anyone",
  ADMINISTRATE_USER: "admin",
  ADMINISTRATE_TOKEN: "admin",
  MODIFY_GLOBAL_CONFIG_POLICIES: "admin",
  MODIFY_WORKSPACE_CONFIG_POLICIES: "owner",
} as const satisfies Readonly<Record<string, "anyone" | "owner" | "admin">>;

/** As the API names it, without PERMISSION_TYPE_. */
export type Permission = keyof typeof basic;

/** What something would be done to. */
export interface Subject {
  /** Absent: it is the whole cluster's. */
  readonly workspace?: number;
  /** The ids of the users who own it. */
  readonly owners?: readonly number[];
}

export interface Rights {
  /** Whether the master enforces roles. */
  readonly rbac: boolean;
  readonly may: (permission: Permission, subject?: Subject) => boolean;
}

/** `summary`: undefined until it is known; nothing is kept from anybody until then. */
export function rightsOf(user: User, rbac: boolean, summary: PermissionsSummary | undefined): Rights {
  const may = (permission: Permission, { workspace, owners = [] }: Subject = {}): boolean => {
    if (!rbac) return basic[permission] === "anyone" || user.admin || (basic[permission] === "owner" && owners.includes(user.id));
    if (summary === undefined) return true;
    const granting = new Set(
      summary.roles.filter(({ permissions }) => permissions.some(({ id }) => id === `PERMISSION_TYPE_${permission}`)).map(({ roleId }) => roleId),
    );
    return summary.assignments.some(
      ({ roleId, scopeCluster, scopeWorkspaceIds }) =>
        granting.has(roleId) && (scopeCluster || (workspace !== undefined && scopeWorkspaceIds.includes(workspace))),
    );
  };
  return { rbac, may };
}
