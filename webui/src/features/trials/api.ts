import { get, post, type Query, stream } from "../../api/client";
import type { Checkpoint, LogLine, TrialEnvironments, Workload } from "../../api/types";
import { type Run, runs } from "./runs";
import type { Allocation, Sources } from "./timeline";

export async function getEnvironment(id: number, signal: AbortSignal): Promise<TrialEnvironments> {
  return (await get("/api/v1/trials/{trialId}/environment", { path: { trialId: id } }, signal)) as TrialEnvironments;
}

export async function listCheckpoints(id: number, signal: AbortSignal): Promise<readonly Checkpoint[]> {
  return (await get("/api/v1/trials/{id}/checkpoints", { path: { id } }, signal)).checkpoints;
}

export interface Workloads {
  readonly workloads: readonly Workload[];
  readonly pagination: { readonly total?: number };
}

export type WorkloadKind = "training" | "validation" | "checkpoint";

/** A page of what a trial did, the newest first; `only` of one kind. */
export function listWorkloads(id: number, only: WorkloadKind | undefined, offset: number, limit: number, signal: AbortSignal): Promise<Workloads> {
  const filter = only === undefined ? {} : { filter: `FILTER_OPTION_${only.toUpperCase()}` };
  return get("/api/v1/trials/{trialId}/workloads", { path: { trialId: id }, query: { offset, limit, orderBy: "ORDER_BY_DESC", ...filter } }, signal);
}

export async function killTrial(id: number): Promise<void> {
  await post("/api/v1/trials/{id}/kill", { path: { id } });
}

async function linesWith(trialId: number, query: Query<"/api/v1/trials/{trialId}/logs">, signal: AbortSignal): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  await stream("/api/v1/trials/{trialId}/logs", { path: { trialId }, query: { ...query, limit: 1000 } }, signal, (some) => lines.push(...some));
  return lines;
}

export async function listRuns(id: number, batches: number, signal: AbortSignal): Promise<readonly Run[]> {
  const [checkpoints, starts, goingOn] = await Promise.all([
    listCheckpoints(id, signal),
    linesWith(id, { searchText: ") starts on agent ", sources: ["master"] }, signal),
    linesWith(id, { searchText: "determined: going on after batch" }, signal),
  ]);
  const lines = [...starts, ...goingOn].sort((a, b) => Number(a.id) - Number(b.id));
  return runs(checkpoints, batches, lines);
}

/** The newest validations that a timeline shows. */
const validationsShown = 500;

export async function loadTimeline(id: number, taskId: string, metric: string, signal: AbortSignal): Promise<Sources> {
  const [{ task }, checkpoints, { workloads }, notes] = await Promise.all([
    get("/api/v1/tasks/{taskId}", { path: { taskId } }, signal),
    listCheckpoints(id, signal),
    listWorkloads(id, "validation", 0, validationsShown, signal),
    linesWith(id, { sources: ["master"] }, signal),
  ]);
  return { allocations: task.allocations as readonly Allocation[], checkpoints, validations: workloads, notes, metric };
}
