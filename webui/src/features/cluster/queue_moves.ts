/** Moving jobs in a queue: pure. */

import type { Job } from "../../api/types";
import type { Rights } from "../../components/people/rights";

type Placed = Pick<Job, "jobId" | "resourcePool" | "summary">;

/** One change of the order, as POST job-queues takes it. */
export type Move =
  | { readonly jobId: string; readonly aheadOf: string }
  | { readonly jobId: string; readonly behindOf: string };

/** Whether the job's queue has an order that can be changed. */
export const isOrdered = ({ summary }: Pick<Job, "summary">): boolean => summary.jobsAhead >= 0;

export const isExperiment = ({ type }: Pick<Job, "type">): boolean => type === "TYPE_EXPERIMENT";

/** Whether the reader may change a job's place, priority and weight. */
export function mayChange(job: Pick<Job, "type" | "workspaceId" | "userId">, may: Rights["may"]): boolean {
  return may(isExperiment(job) ? "UPDATE_EXPERIMENT" : "UPDATE_NSC", { workspace: job.workspaceId, owners: [job.userId] });
}

/**
 * The change that brings `jobId` to the place of `targetId`; undefined where
 * there is none: the same place, another pool, a queue without an order.
 */
export function moveTo(jobs: readonly Placed[], jobId: string, targetId: string): Move | undefined {
  const from = jobs.findIndex((job) => job.jobId === jobId);
  const to = jobs.findIndex((job) => job.jobId === targetId);
  const [moved, target] = [jobs[from], jobs[to]];
  if (moved === undefined || target === undefined || from === to) return undefined;
  if (moved.resourcePool !== target.resourcePool || !isOrdered(moved)) return undefined;
  return from > to ? { jobId, aheadOf: targetId } : { jobId, behindOf: targetId };
}

/** The job right before or behind `jobId` in its pool. */
export function neighbour(jobs: readonly Placed[], jobId: string, way: -1 | 1): string | undefined {
  const mine = jobs.find((job) => job.jobId === jobId);
  const pool = jobs.filter((job) => job.resourcePool === mine?.resourcePool);
  return pool[pool.findIndex((job) => job.jobId === jobId) + way]?.jobId;
}
