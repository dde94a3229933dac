import { get, post, stream } from "../../api/client";
import type { Checkpoint, Experiment, LogLine, MetricReport, Trial, Workload } from "../../api/types";
import { type Run, runs } from "./runs";

export interface TrialWithExperiment {
  readonly trial: Trial;
  readonly experiment: Experiment;
}

export async function getTrial(id: number, signal: AbortSignal): Promise<TrialWithExperiment> {
  const { trial } = await get<{ trial: Trial }>(`trials/${id}`, {}, signal);
  const { experiment } = await get<{ experiment: Experiment }>(`experiments/${trial.experimentId}`, {}, signal);
  return { trial, experiment };
}

export async function listCheckpoints(id: number, signal: AbortSignal): Promise<readonly Checkpoint[]> {
  return (await get<{ checkpoints: readonly Checkpoint[] }>(`trials/${id}/checkpoints`, {}, signal)).checkpoints;
}

export interface Workloads {
  readonly workloads: readonly Workload[];
  readonly pagination: { readonly total?: number };
}

export type WorkloadKind = "training" | "validation" | "checkpoint";

/** A page of what a trial did, the newest first; `only` of one kind. */
export function listWorkloads(id: number, only: WorkloadKind | undefined, offset: number, limit: number, signal: AbortSignal): Promise<Workloads> {
  const filter = only === undefined ? {} : { filter: `FILTER_OPTION_${only.toUpperCase()}` };
  return get<Workloads>(`trials/${id}/workloads`, { offset, limit, orderBy: "ORDER_BY_DESC", ...filter }, signal);
}

export async function killTrial(id: number): Promise<void> {
  await post(`trials/${id}/kill`);
}

async function all<T>(path: string, parameters: Parameters<typeof stream>[1], signal: AbortSignal): Promise<T[]> {
  const items: T[] = [];
  await stream<T>(path, parameters, signal, (some) => items.push(...some));
  return items;
}

/** What a trial reported in one group of metrics, of long curves as many reports as `most` shows. */
export async function listReports(id: number, group: string, most: number, signal: AbortSignal): Promise<readonly MetricReport[]> {
  const parameters = { trialIds: [id], group, maxDatapoints: most };
  const replies = await all<{ metrics: readonly MetricReport[] }>("trials/metrics/trial_metrics", parameters, signal);
  return replies.flatMap(({ metrics }) => metrics);
}

export async function listRuns(id: number, batches: number, signal: AbortSignal): Promise<readonly Run[]> {
  const [checkpoints, starts, goingOn] = await Promise.all([
    listCheckpoints(id, signal),
    all<LogLine>(`trials/${id}/logs`, { searchText: ") starts on agent ", sources: ["master"], limit: 1000 }, signal),
    all<LogLine>(`trials/${id}/logs`, { searchText: "determined: going on after batch", limit: 1000 }, signal),
  ]);
  const lines = [...starts, ...goingOn].sort((a, b) => Number(a.id) - Number(b.id));
  return runs(checkpoints, batches, lines);
}
