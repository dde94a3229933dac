/**
 * What a user may do, as far as a page can know: it offers only that. The master decides; what it refuses all the
 * same, it says why. Pure.
 */

import type { Permissions } from "../../api/types";
import type { User } from "../../api/types";

/** Who may, where the master enforces no roles: everybody, the owner of the thing, or administrators only. */
export const basic = {
  CREATE_EXPERIMENT: "anyone",
  UPDATE_EXPERIMENT: "anyone",
  UPDATE_EXPERIMENT_METADATA: "anyone",
  DELETE_EXPERIMENT: "owner",
  CREATE_NSC: "anyone",
  UPDATE_NSC: "anyone",
  CREATE_MODEL_REGISTRY: "anyone",
  EDIT_MODEL_REGISTRY: "anyone",
  DELETE_MODEL_REGISTRY: "owner",
  DELETE_MODEL_VERSION: "owner",
  CREATE_WORKSPACE: "anyone",
  UPDATE_WORKSPACE: "owner",
  DELETE_WORKSPACE: "owner",
  CREATE_PROJECT: "anyone",
  UPDATE_PROJECT: "owner",
  DELETE_PROJECT: "owner",
  ASSIGN_ROLES: "admin",
  VIEW_TEMPLATES: "anyone",
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

/** Where roles count, what the API calls it, with the name that it has for things of others. */
export const wire: Readonly<Partial<Record<Permission, { readonly own: string; readonly ofOthers: string }>>> = {
  DELETE_MODEL_REGISTRY: { own: "DELETE_MODEL_REGISTRY", ofOthers: "DELETE_OTHER_USER_MODEL_REGISTRY" },
  DELETE_MODEL_VERSION: { own: "DELETE_MODEL_VERSION", ofOthers: "DELETE_OTHER_USER_MODEL_VERSION" },
};

/** A role for one workspace does not grant these. */
export const clusterOnly: readonly Permission[] = [
  "CREATE_WORKSPACE",
  "VIEW_MASTER_CONFIG",
  "VIEW_CLUSTER_USAGE",
  "UPDATE_AGENTS",
  "CREATE_TOKEN",
  "ADMINISTRATE_USER",
  "ADMINISTRATE_TOKEN",
  "MODIFY_GLOBAL_CONFIG_POLICIES",
];

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
  /** Whether there may be a workspace in which something that is one's own is allowed. */
  readonly mayAnywhere: (permission: Permission) => boolean;
}

/** `summary`: undefined where the master did not tell it; then nothing is kept from anybody. */
export function rightsOf(user: User, rbac: boolean, summary: Permissions | undefined): Rights {
  const may = (permission: Permission, { workspace, owners = [] }: Subject = {}): boolean => {
    if (!rbac) return basic[permission] === "anyone" || user.admin || (basic[permission] === "owner" && owners.includes(user.id));
    if (summary === undefined) return true;
    const { own, ofOthers } = wire[permission] ?? { own: permission, ofOthers: permission };
    const name = `PERMISSION_TYPE_${owners.includes(user.id) ? own : ofOthers}`;
    const granting = new Set(summary.roles.filter(({ permissions }) => permissions.some(({ id }) => id === name)).map(({ roleId }) => roleId));
    const there = clusterOnly.includes(permission) ? undefined : workspace;
    return summary.assignments.some(
      ({ roleId, scopeCluster, scopeWorkspaceIds }) => granting.has(roleId) && (scopeCluster || (there !== undefined && scopeWorkspaceIds.includes(there))),
    );
  };
  const mayAnywhere = (permission: Permission): boolean => {
    if (!rbac || summary === undefined) return may(permission, { owners: [user.id] });
    const workspaces = summary.assignments.flatMap(({ scopeWorkspaceIds }) => scopeWorkspaceIds);
    return [undefined, ...workspaces].some((workspace) => may(permission, { ...(workspace === undefined ? {} : { workspace }), owners: [user.id] }));
  };
  return { rbac, may, mayAnywhere };
}
