import { get, patch, post, remove } from "../../api/client";
import type { Checkpoint, Experiment, ExperimentPage, Trial } from "../../api/types";
import type { Query } from "../../components/address/paths";
import type { Action } from "./changing/actions";
import { listParameters } from "./list/search";

export const listExperiments = async (query: Query, signal: AbortSignal): Promise<ExperimentPage> =>
  get("/api/v1/experiments", { query: { ...listParameters(query), omitConfig: true } }, signal);

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
