/** Letting a finished experiment of one trial go on in its place. Pure. */

import type { Experiment } from "../../api/types";
import { isTerminal } from "../../components/format";

/** Whether the master may let it go on: it is over, and was of one trial. */
export function canGoOn({ state, searcherType, unmanaged }: Pick<Experiment, "state" | "searcherType" | "unmanaged">): boolean {
  return isTerminal(state) && state !== "STATE_DELETED" && state !== "STATE_DELETE_FAILED" && searcherType === "single" && !unmanaged;
}

/** What to lay over its configuration, to begin with: of a completed experiment twice the length, else nothing. */
export function usualOverride(config: unknown, state: string): string {
  const member = (value: unknown, name: string): unknown =>
    typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
  const length = member(member(config, "searcher"), "max_length");
  if (state !== "STATE_COMPLETED") return "{}\n";
  if (typeof length === "number") return `searcher:\n  max_length: ${2 * length}\n`;
  const [unit, value] = Object.entries(typeof length === "object" && length !== null ? length : {})[0] ?? [];
  return unit === undefined || typeof value !== "number" ? "{}\n" : `searcher:\n  max_length:\n    ${unit}: ${2 * value}\n`;
}
