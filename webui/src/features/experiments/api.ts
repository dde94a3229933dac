import { get, patch, post, remove } from "../../api/client";
import type { Checkpoint, Experiment, ExperimentPage, Trial } from "../../api/types";
import type { Query } from "../../components/address/paths";
import type { Action } from "./changing/actions";
import { isExtra, type Listed } from "./list/extra_columns";
import { wholeExpression } from "./list/expression";
import { listParameters, searchRequest } from "./list/search";

export type ListedPage = Omit<ExperimentPage, "experiments"> & { readonly experiments: readonly Listed[] };

/** Experiments by any column, each with its best trial. */
export async function findExperiments(query: Query, signal?: AbortSignal): Promise<ListedPage> {
  const { experiments, pagination } = await post("/api/v1/experiments-search", { body: searchRequest(query, wholeExpression(query)) }, signal);
  return { experiments: experiments.map(({ experiment, bestTrial }) => ({ ...experiment, bestTrial: bestTrial ?? undefined }) as Listed), pagination };
}

/** A page of the list, in which the columns are shown. */
export async function listExperiments(query: Query, columns: readonly string[], signal: AbortSignal): Promise<ListedPage> {
  const any = query.filter || columns.some(isExtra) || isExtra(query.sort ?? "");
  if (any) return findExperiments(query, signal);
  return get("/api/v1/experiments", { query: { ...listParameters(query), omitConfig: true } }, signal);
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
