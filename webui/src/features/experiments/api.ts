import { get, patch, post, remove } from "../../api/client";
import type { components } from "../../api/generated/schema";
import type { Checkpoint, Experiment, ExperimentPage, Trial } from "../../api/types";
import type { Query } from "../../components/address/paths";
import type { Action } from "./changing/actions";
import { isExtra, type Listed } from "./list/extra_columns";
import { wholeExpression } from "./list/expression";
import { listParameters, pageSize, searchColumn, searchRequest } from "./list/search";

export type ListedPage = Omit<ExperimentPage, "experiments"> & { readonly experiments: readonly Listed[] };
export type ExperimentGroup = components["schemas"]["ExperimentGroup"];

/** Which part of a list: a page, from 0, of the whole or of a group. */
export interface Part {
  readonly page?: number;
  /** How many are on a page. */
  readonly size?: number;
  /** What the column that the list is grouped by has in it. */
  readonly group?: unknown;
}

/** Experiments by any column, each with its best trial. */
export async function findExperiments(query: Query, { page = 0, size = pageSize, group = null }: Part = {}, signal?: AbortSignal): Promise<ListedPage> {
  const groupBy = query.group ? { groupBy: searchColumn(query.group), groupValue: group } : {};
  const body = { ...searchRequest(query, wholeExpression(query)), ...groupBy, offset: page * size, limit: size };
  const { experiments, pagination } = await post("/api/v1/experiments-search", { body }, signal);
  return { experiments: experiments.map(({ experiment, bestTrial }) => ({ ...experiment, bestTrial: bestTrial ?? undefined }) as Listed), pagination };
}

/** A part of the list, in which the columns are shown. */
export async function listExperiments(query: Query, columns: readonly string[], part: Part, signal?: AbortSignal): Promise<ListedPage> {
  const any = query.filter || query.group || columns.some(isExtra) || isExtra(query.sort ?? "");
  if (any) return findExperiments(query, part, signal);
  return get("/api/v1/experiments", { query: { ...listParameters(query, part.page, part.size), omitConfig: true } }, signal);
}

export const groupsMax = 1000;

/** The groups of the list, with what the numbers in their columns amount to. */
export async function listGroups(query: Query, columns: readonly string[], signal: AbortSignal): Promise<readonly ExperimentGroup[]> {
  const body = {
    ...searchRequest(query, wholeExpression(query)),
    groupBy: searchColumn(query.group ?? ""),
    columns: columns.map(searchColumn),
    limit: groupsMax,
  };
  return (await post("/api/v1/experiments-groups", { body }, signal)).groups;
}

export async function getExperiment(id: number, signal?: AbortSignal): Promise<Experiment> {
  return (await get("/api/v1/experiments/{id}", { path: { id } }, signal)).experiment;
}

export async function listTrials(id: number, signal: AbortSignal): Promise<readonly Trial[]> {
  const parameters = { limit: 2000, sortBy: "SORT_BY_ID" };
  return (await get("/api/v1/experiments/{experimentId}/trials", { path: { experimentId: id }, query: parameters }, signal)).trials;
}

export const checkpointsMax = 1000;

export async function listCheckpoints(id: number, signal: AbortSignal): Promise<readonly Checkpoint[]> {
  const reply = await get("/api/v1/experiments/{id}/checkpoints", { path: { id }, query: { limit: checkpointsMax } }, signal);
  return reply.checkpoints;
}

export async function act(id: number, action: Action): Promise<void> {
  if (action === "delete") await remove("/api/v1/experiments/{id}", { path: { id } });
  else await post(`/api/v1/experiments/{id}/${action}`, { path: { id } });
}

export interface ExperimentChange {
  readonly name?: string;
  readonly description?: string;
  readonly notes?: string;
  readonly labels?: readonly string[];
}

export async function change(id: number, what: ExperimentChange): Promise<void> {
  await patch("/api/v1/experiments/{id}", { path: { id }, body: what });
}
