/** Where experiments are: workspaces, and the projects in them. */

import { get } from "./client";
import type { Project, Workspace } from "./team_types";

export interface Workspaces {
  readonly workspaces: readonly Workspace[];
}

/** `archived`: only those that are, or are not; undefined: both. */
export async function listWorkspaces(archived: boolean | undefined, signal?: AbortSignal): Promise<readonly Workspace[]> {
  const parameters = { sortBy: "SORT_BY_NAME", ...(archived === undefined ? {} : { archived }) };
  return (await get<Workspaces>("workspaces", parameters, signal)).workspaces;
}

export async function listProjects(
  workspace: number,
  archived: boolean | undefined,
  signal?: AbortSignal,
): Promise<readonly Project[]> {
  const parameters = { sortBy: "SORT_BY_NAME", ...(archived === undefined ? {} : { archived }) };
  const reply = await get<{ projects: readonly Project[] }>(`workspaces/${workspace}/projects`, parameters, signal);
  return reply.projects;
}
