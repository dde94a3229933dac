/** What the search box asks the master for. */

import type { Experiment } from "../../api/types";

export interface Search {
  /** The experiment with this number, whatever it is called. */
  readonly id?: number;
  /** Part of the name or of the description. */
  readonly text: string;
}

export function parseSearch(text: string): Search {
  const trimmed = text.trim();
  const id = Number(trimmed.replace(/^#/, ""));
  return trimmed !== "" && Number.isSafeInteger(id) && id > 0 ? { id, text: trimmed.replace(/^#/, "") } : { text: trimmed };
}

/** The answers to several questions as one list: newest first, each experiment once. */
export function merge(...lists: readonly (readonly Experiment[])[]): Experiment[] {
  const byId = new Map<number, Experiment>();
  for (const list of lists) for (const experiment of list) byId.set(experiment.id, experiment);
  return [...byId.values()].sort((a, b) => b.id - a.id);
}

/** The states behind each choice of the filter. */
export const stateFilters: Readonly<Record<string, readonly string[]>> = {
  active: ["STATE_ACTIVE", "STATE_RUNNING", "STATE_QUEUED", "STATE_PULLING", "STATE_STARTING"],
  paused: ["STATE_PAUSED"],
  completed: ["STATE_COMPLETED"],
  canceled: ["STATE_CANCELED"],
  error: ["STATE_ERROR"],
};
