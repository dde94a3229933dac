/** The progress of a search as rungs: how many trials were trained how far. Pure. */

import type { Trial } from "../../../api/types";
import { isTerminal, toNumber } from "../../../components/format";

export interface Rung {
  /** Batches at which trials are compared. */
  readonly length: number;
  /** Trials that shall reach it, or have. */
  readonly entered: number;
  readonly reached: number;
  /** Of those that reached it: still in the search beyond it. */
  readonly promoted: number;
  readonly stopped: number;
  /** The best final metric among those that reached it. */
  readonly best: number | undefined;
}

type Subject = Pick<Trial, "state" | "totalBatchesProcessed" | "targetBatches" | "searcherMetricValue">;

/** How far the search has sent the trial. */
const goal = (trial: Subject) => Math.max(trial.targetBatches ?? 0, isTerminal(trial.state) ? trial.totalBatchesProcessed : 0);

/**
 * The lengths to which a search sent its trials, shortest first. A trial that
 * ended early through an error, or runs without a goal, makes no rung of its own.
 */
export function rungs(trials: readonly Subject[], smallerIsBetter: boolean): Rung[] {
  const lengths = trials
    .filter((trial) => trial.state !== "STATE_ERROR" && trial.state !== "STATE_CANCELED")
    .map(goal)
    .filter((length) => length > 0);
  return [...new Set(lengths)]
    .sort((a, b) => a - b)
    .map((length) => {
      const entered = trials.filter((trial) => goal(trial) >= length);
      const reached = entered.filter((trial) => trial.totalBatchesProcessed >= length);
      const metrics = reached.flatMap((trial) => {
        const value = toNumber(trial.searcherMetricValue);
        return value === undefined || Number.isNaN(value) ? [] : [value];
      });
      const best = metrics.length === 0 ? undefined : smallerIsBetter ? Math.min(...metrics) : Math.max(...metrics);
      return {
        length,
        entered: entered.length,
        reached: reached.length,
        promoted: reached.filter((trial) => goal(trial) > length).length,
        stopped: reached.filter((trial) => goal(trial) === length && isTerminal(trial.state)).length,
        best,
      };
    });
}
