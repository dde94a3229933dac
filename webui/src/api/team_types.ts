/** What the master's /api/v1 sends about who works where, and who may do what: the parts that pages show. */

import type { User } from "./types";

/** What goes with all that it holds. */
export interface Deletable {
  readonly archived: boolean;
  /** WORKSPACE_STATE_UNSPECIFIED: nobody wants it deleted. */
  readonly state: string;
  /** Why it could not be deleted. */
  readonly errorMessage: string;
}

export interface Workspace extends Deletable {
  readonly id: number;
  readonly name: string;
  /** "Uncategorized": always there, as it is. */
  readonly immutable: boolean;
  readonly pinned: boolean;
  readonly numProjects: number;
  readonly numExperiments: number;
  readonly username: string;
  readonly userId: number;
  readonly defaultComputePool: string;
}

export interface ProjectNote {
  readonly name: string;
  readonly contents: string;
}

export interface Project extends Deletable {
  readonly id: number;
  readonly name: string;
  readonly key: string;
  readonly description: string;
  readonly workspaceId: number;
  readonly workspaceName: string;
  readonly immutable: boolean;
  readonly numExperiments: number;
  readonly numActiveExperiments: number;
  readonly lastExperimentStartedAt?: string | null;
  readonly username: string;
  readonly userId: number;
  readonly notes: readonly ProjectNote[];
}

export interface Role {
  readonly roleId: number;
  readonly name: string;
  readonly permissions: readonly { readonly id: string }[];
  /** What it is for. */
  readonly summary: string;
}

/** The caller's roles, and where they hold. */
export interface PermissionsSummary {
  readonly roles: readonly Role[];
  readonly assignments: readonly {
    readonly roleId: number;
    readonly scopeCluster: boolean;
    readonly scopeWorkspaceIds: readonly number[];
  }[];
}

export interface UserAssignment {
  readonly userId: number;
  readonly roleAssignment: {
    readonly role: Pick<Role, "roleId">;
    readonly scopeCluster: boolean;
    readonly scopeWorkspaceId?: number | null;
  };
}

/** Users who have roles together. */
export interface Group {
  readonly groupId: number;
  readonly name: string;
  readonly users: readonly User[];
}

export interface RoleWithAssignments {
  readonly role: Role;
  readonly groupRoleAssignments: readonly { readonly groupId: number }[];
  readonly userRoleAssignments: readonly UserAssignment[];
}

/** Who has roles in a workspace. */
export interface MembersReply {
  readonly groups: readonly Group[];
  readonly usersAssignedDirectly: readonly User[];
  readonly assignments: readonly RoleWithAssignments[];
}
