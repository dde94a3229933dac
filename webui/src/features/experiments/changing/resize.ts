/** What of a submitted experiment can be changed: how large its search is, and what it may take of the cluster. Pure. */

import { isTerminal } from "../../../components/format";

type Section = "searcher" | "resources";

export interface Field {
  readonly section: Section;
  /** As the API names it. */
  readonly name: string;
  readonly label: string;
  readonly now: number | undefined;
  /** Smaller is refused. */
  readonly min: number;
  readonly max?: number;
  readonly whole: boolean;
  /** An empty field means no limit. */
  readonly mayBeEmpty?: boolean;
}

/** Of the searchers whose size can change, what of it: as src/experiment/reconfigure.cpp has it. */
const changeable: Readonly<Record<string, readonly string[]>> = {
  single: ["max_length"],
  random: ["max_trials", "max_length", "max_concurrent_trials"],
  tpe: ["max_trials", "max_length", "max_concurrent_trials"],
  grid: ["max_length", "max_concurrent_trials"],
  adaptive_asha: ["max_trials", "max_length", "max_concurrent_trials"],
  async_halving: ["max_trials", "max_length", "max_concurrent_trials"],
  sync_halving: ["max_length"],
  adaptive: ["max_length"],
  adaptive_simple: ["max_length"],
  pbt: ["num_rounds"],
};

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
const numberOf = (value: unknown) => (typeof value === "number" ? value : undefined);

/** A length is a number, or a number of some unit: {batches: 100}. */
function lengthOf(value: unknown): { readonly now: number | undefined; readonly unit: string } {
  if (typeof value === "object" && value !== null) {
    const [unit = "", now] = Object.entries(value)[0] ?? [];
    return { now: numberOf(now), unit };
  }
  return { now: numberOf(value), unit: "" };
}

/** Those that go on with more trials when they are over. */
const extendable: readonly string[] = ["random", "tpe", "adaptive_asha", "async_halving"];

/** The fields that the experiment's searcher and state let one change. */
export function sizeFields(config: unknown, state: string): Field[] {
  const searcher = member(config, "searcher");
  const searcherName = String(member(searcher, "name"));
  const over = isTerminal(state);
  const names = (changeable[searcherName] ?? []).filter((name) => !over || name !== "max_length");
  const fields: Field[] = [];
  if (!over || (state === "STATE_COMPLETED" && extendable.includes(searcherName))) {
    const trials = numberOf(member(searcher, "max_trials"));
    const { now: length, unit } = lengthOf(member(searcher, "max_length"));
    if (names.includes("max_trials"))
      fields.push({ section: "searcher", name: "maxTrials", label: "Total trials (can only be increased)", now: trials, min: trials ?? 1, whole: true });
    if (names.includes("max_length") && length !== undefined)
      fields.push({
        section: "searcher",
        name: "maxLength",
        label: `Length of each trial${unit === "" ? "" : ` in ${unit}`} (can only be increased)`,
        now: length,
        min: length,
        whole: true,
      });
    const rounds = numberOf(member(searcher, "num_rounds"));
    if (names.includes("num_rounds"))
      fields.push({ section: "searcher", name: "numRounds", label: "Population rounds (can only be increased)", now: rounds, min: rounds ?? 1, whole: true });
    if (names.includes("max_concurrent_trials"))
      fields.push({
        section: "searcher",
        name: "maxConcurrentTrials",
        label: "Concurrent trials (0: no limit)",
        now: numberOf(member(searcher, "max_concurrent_trials")),
        min: 0,
        whole: true,
      });
  }
  if (!over) {
    const resources = member(config, "resources");
    const slots = member(resources, "slots_per_trial");
    const perTrial = numberOf(slots) ?? numberOf(member(slots, "min")) ?? 1;
    fields.push(
      {
        section: "resources",
        name: "maxSlots",
        label: "Maximum slots (empty: no limit)",
        now: numberOf(member(resources, "max_slots")),
        min: perTrial,
        whole: true,
        mayBeEmpty: true,
      },
      { section: "resources", name: "priority", label: "Priority (1 is the highest, 99 the lowest)", now: numberOf(member(resources, "priority")), min: 1, max: 99, whole: true },
      { section: "resources", name: "weight", label: "Weight (fair-share pools)", now: numberOf(member(resources, "weight")), min: 0, whole: false },
    );
  }
  return fields;
}

export type Typed = Readonly<Record<string, string>>;

/** What the fields show at first. */
export const typedOf = (fields: readonly Field[]): Typed => Object.fromEntries(fields.map(({ name, now }) => [name, now === undefined ? "" : String(now)]));

export type Change = { readonly [section in Section]?: Readonly<Record<string, number | null>> };

/** The body of PATCH: only what is different from now; or what is wrong, in words. */
export function changeOf(fields: readonly Field[], typed: Typed): Change | { readonly problem: string } {
  const change: { [section in Section]?: Record<string, number | null> } = {};
  for (const { section, name, label, now, min, max, whole, mayBeEmpty } of fields) {
    const text = (typed[name] ?? "").trim();
    const called = label.replace(/ \(.*/, "");
    if (text === "") {
      if (now === undefined) continue;
      if (!mayBeEmpty) return { problem: `${called}: enter a number.` };
      (change[section] ??= {})[name] = null;
      continue;
    }
    const value = Number(text);
    if (!Number.isFinite(value) || (whole && !Number.isSafeInteger(value))) return { problem: `${called} is “${text}”; it must be a ${whole ? "whole " : ""}number.` };
    if (value < min) return { problem: `${called} is ${text}; it must be ${min} or more.` };
    if (max !== undefined && value > max) return { problem: `${called} is ${text}; it must be ${max} or less.` };
    if (value !== now) (change[section] ??= {})[name] = value;
  }
  return change;
}

export const isEmpty = (change: Change): boolean => change.searcher === undefined && change.resources === undefined;
