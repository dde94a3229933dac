/** The empirical distribution function of a search's results. Pure. */

export interface Step {
  readonly value: number;
  /** The part of the results that is at least as good, from 0 to 1. */
  readonly part: number;
}

/** A step at each result, best first; results that are no finite numbers are never reached. */
export function distribution(metrics: readonly number[], smallerIsBetter: boolean): readonly Step[] {
  const sign = smallerIsBetter ? 1 : -1;
  const sorted = metrics.filter(Number.isFinite).sort((a, b) => sign * (a - b));
  const steps: Step[] = [];
  sorted.forEach((value, index) => {
    const part = (index + 1) / metrics.length;
    if (steps.at(-1)?.value === value) steps[steps.length - 1] = { value, part };
    else steps.push({ value, part });
  });
  return steps;
}
