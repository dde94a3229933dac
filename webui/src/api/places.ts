/** Where experiments are: workspaces, and the projects in them. */

import { get } from "./client";
import type { Project, Workspace } from "./types";

const byName = (archived: boolean | undefined) => ({ sortBy: "SORT_BY_NAME", ...(archived === undefined ? {} : { archived }) });

/** `archived`: only those that are, or are not; undefined: both. */
export async function listWorkspaces(archived: boolean | undefined, signal?: AbortSignal): Promise<readonly Workspace[]> {
  return (await get("/api/v1/workspaces", { query: byName(archived) }, signal)).workspaces;
}

export async function listProjects(workspace: number, archived: boolean | undefined, signal?: AbortSignal): Promise<readonly Project[]> {
  return (await get("/api/v1/workspaces/{id}/projects", { path: { id: workspace }, query: byName(archived) }, signal)).projects as readonly Project[];
}
