import { ApiError, get, post } from "../../api/client";
import type { Experiment, Trial } from "../../api/types";
import type { Action } from "./actions";
import { merge, parseSearch, stateFilters } from "./search";

interface ListReply {
  readonly experiments: readonly Experiment[];
  readonly pagination: { readonly total?: number };
}

export interface ExperimentList {
  readonly experiments: readonly Experiment[];
  /** There are more that match than the limit let through. */
  readonly more: boolean;
}

/** The newest experiments whose number, name or description is searched for. */
export async function listExperiments(search: string, state: string, limit: number, signal: AbortSignal): Promise<ExperimentList> {
  const { id, text } = parseSearch(search);
  const common = {
    archived: false,
    sortBy: "SORT_BY_ID",
    orderBy: "ORDER_BY_DESC",
    limit,
    ...(stateFilters[state] ? { states: stateFilters[state] } : {}),
  };
  if (text === "") {
    const reply = await get<ListReply>("experiments", common, signal);
    return { experiments: reply.experiments, more: (reply.pagination.total ?? 0) > reply.experiments.length };
  }
  const [byName, byDescription, byId] = await Promise.all([
    get<ListReply>("experiments", { ...common, name: text }, signal),
    get<ListReply>("experiments", { ...common, description: text }, signal),
    id === undefined ? [] : findExperiment(id, signal),
  ]);
  const more = [byName, byDescription].some((reply) => (reply.pagination.total ?? 0) > reply.experiments.length);
  return { experiments: merge(byName.experiments, byDescription.experiments, byId), more };
}

async function findExperiment(id: number, signal: AbortSignal): Promise<Experiment[]> {
  try {
    return [await getExperiment(id, signal)];
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) return [];
    throw cause;
  }
}

export async function getExperiment(id: number, signal: AbortSignal): Promise<Experiment> {
  return (await get<{ experiment: Experiment }>(`experiments/${id}`, {}, signal)).experiment;
}

export async function listTrials(id: number, signal: AbortSignal): Promise<readonly Trial[]> {
  const parameters = { limit: 1000, sortBy: "SORT_BY_ID" };
  return (await get<{ trials: readonly Trial[] }>(`experiments/${id}/trials`, parameters, signal)).trials;
}

export async function act(id: number, action: Action): Promise<void> {
  await post(`experiments/${id}/${action}`);
}
