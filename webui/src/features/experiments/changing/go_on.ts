/** Letting a finished experiment go on in its place. Pure. */

import type { Experiment } from "../../../api/types";
import { isTerminal } from "../../../components/format";

/** Searches that run trials again which failed: they may go on although they are complete. */
const takeBack: readonly string[] = ["random", "grid", "tpe", "async_halving", "adaptive_asha"];
/** Searches that go on where they were stopped. */
const goOn: readonly string[] = [...takeBack, "sync_halving", "adaptive", "adaptive_simple"];

/** Whether the master may Resume: it is over; the master knows whether it has anything to do. */
export function canGoOn({ state, searcherType, unmanaged }: Pick<Experiment, "state" | "searcherType" | "unmanaged">): boolean {
  if (unmanaged || !isTerminal(state) || state === "STATE_DELETED" || state === "STATE_DELETE_FAILED") return false;
  return searcherType === "single" || (state === "STATE_COMPLETED" ? takeBack : goOn).includes(searcherType);
}

/** What to lay over its configuration, to begin with: of a completed experiment twice the length, else nothing. */
export function usualOverride(config: unknown, state: string, searcherType = "single"): string {
  const member = (value: unknown, name: string): unknown =>
    typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
  const length = member(member(config, "searcher"), "max_length");
  if (state !== "STATE_COMPLETED" || searcherType !== "single") return "{}\n";
  if (typeof length === "number") return `searcher:\n  max_length: ${2 * length}\n`;
  const [unit, value] = Object.entries(typeof length === "object" && length !== null ? length : {})[0] ?? [];
  return unit === undefined || typeof value !== "number" ? "{}\n" : `searcher:\n  max_length:\n    ${unit}: ${2 * value}\n`;
}
