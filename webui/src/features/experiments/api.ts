import { get, patch, post, remove } from "../../api/client";
import type { Checkpoint, Experiment, Pagination, Trial } from "../../api/types";
import type { Query } from "../../components/address/paths";
import type { Action } from "./changing/actions";
import { listParameters } from "./list/search";

export interface ExperimentPageReply {
  readonly experiments: readonly Experiment[];
  readonly pagination: Pagination;
}

export const listExperiments = (query: Query, signal: AbortSignal): Promise<ExperimentPageReply> =>
  get<ExperimentPageReply>("experiments", { ...listParameters(query), omitConfig: true }, signal);

export async function getExperiment(id: number, signal?: AbortSignal): Promise<Experiment> {
  return (await get<{ experiment: Experiment }>(`experiments/${id}`, {}, signal)).experiment;
}

export async function listTrials(id: number, signal: AbortSignal): Promise<readonly Trial[]> {
  const parameters = { limit: 2000, sortBy: "SORT_BY_ID" };
  return (await get<{ trials: readonly Trial[] }>(`experiments/${id}/trials`, parameters, signal)).trials;
}

export const checkpointsMax = 1000;

export async function listCheckpoints(id: number, signal: AbortSignal): Promise<readonly Checkpoint[]> {
  const reply = await get<{ checkpoints: readonly Checkpoint[] }>(`experiments/${id}/checkpoints`, { limit: checkpointsMax }, signal);
  return reply.checkpoints;
}

export async function act(id: number, action: Action): Promise<void> {
  if (action === "delete") await remove(`experiments/${id}`);
  else await post(`experiments/${id}/${action}`);
}

export interface ExperimentChange {
  readonly name?: string;
  readonly description?: string;
  readonly notes?: string;
  readonly labels?: readonly string[];
}

export async function change(id: number, what: ExperimentChange): Promise<void> {
  await patch(`experiments/${id}`, what);
}
