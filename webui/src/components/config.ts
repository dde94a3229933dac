/** Parts of an experiment's configuration, read with care: it is whatever the user wrote. */

import { count } from "./format";

export function member(value: unknown, ...names: readonly string[]): unknown {
  let at = value;
  for (const name of names) {
    if (typeof at !== "object" || at === null || Array.isArray(at)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

/** searcher.smaller_is_better, true unless it says otherwise. */
export const smallerIsBetter = (config: unknown): boolean => member(config, "searcher", "smaller_is_better") !== false;

/** "validation_loss (lower is better)". */
export const withDirection = (metric: string, smaller: boolean): string => `${metric} (${smaller ? "lower" : "higher"} is better)`;

/** "240 batches", of searcher.max_length. */
export function lengthText(config: unknown): string {
  const length = member(config, "searcher", "max_length");
  if (typeof length === "number") return count(length, "batch", "batches");
  if (typeof length !== "object" || length === null) return "";
  const [unit, value] = Object.entries(length)[0] ?? [];
  if (typeof value !== "number" || unit === undefined) return "";
  return count(value, unit === "batches" ? "batch" : unit.replace(/s$/, ""), unit);
}
