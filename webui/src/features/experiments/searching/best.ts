import type { Trial } from "../../../api/types";
import { toNumber } from "../../../components/format";

/** Trials, the best first; those without a metric, or with NaN, come last, in order of their number. */
export function bestTrials<T extends Pick<Trial, "id" | "searcherMetricValue">>(trials: readonly T[], smallerIsBetter: boolean): T[] {
  const key = (trial: T) => {
    const value = toNumber(trial.searcherMetricValue);
    return value === undefined || Number.isNaN(value) ? Number.POSITIVE_INFINITY : smallerIsBetter ? value : -value;
  };
  return [...trials].sort((a, b) => (key(a) === key(b) ? a.id - b.id : key(a) - key(b)));
}
