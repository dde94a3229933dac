/** What trials can be put together by. Pure. */

import { flatten } from "../format";

interface TrialOf {
  readonly id: number;
  readonly experimentId: number;
  readonly hparams: Readonly<Record<string, unknown>>;
}

/** The value of each trial, by what it is the value of: "experiment", or a hyperparameter. */
export type Groupings = ReadonlyMap<string, ReadonlyMap<number, string>>;

export function groupingsOf(trials: readonly TrialOf[]): Groupings {
  const groupings = new Map<string, Map<number, string>>([["experiment", new Map(trials.map(({ id, experimentId }) => [id, String(experimentId)]))]]);
  for (const { id, hparams } of trials)
    for (const [name, value] of flatten(hparams)) groupings.set(name, (groupings.get(name) ?? new Map<number, string>()).set(id, value));
  return groupings;
}

/** Those in which trials differ, by name. */
export const differing = (groupings: Groupings): string[] =>
  [...groupings].flatMap(([name, values]) => (new Set(values.values()).size > 1 ? [name] : [])).sort((a, b) => Number(b === "experiment") - Number(a === "experiment") || a.localeCompare(b));
