/** How charts are shown, as the query of an address or as a block of a note has it. Pure. */

import { axes, type Axis } from "./curves";
import { type BandKind, bandKinds } from "./bands";

/** How much of the past a smoothed curve keeps. */
export const weights = [["0", "none"], ["0.6", "low"], ["0.9", "medium"], ["0.98", "high"]] as const;

export interface ChartView {
  /** The only metric that is shown; empty: all. */
  readonly metric: string;
  readonly axis: Axis;
  readonly log: boolean;
  readonly smooth: number;
  /** The trials of one curve: those with the same value of this. Empty: each trial is one. */
  readonly group: string;
  readonly band: BandKind;
}

type Values = Readonly<Record<string, string | undefined>>;

/** What is not known is as if it were not said. */
export function chartView({ metric = "", x, log = "", smooth, group = "", band }: Values): ChartView {
  const weight = Number(smooth);
  return {
    metric,
    axis: axes.find((axis) => axis === x) ?? "batches",
    log: log !== "" && log !== "false",
    smooth: weight > 0 && weight < 1 ? weight : 0,
    group,
    band: bandKinds.find((kind) => kind === band) ?? "min–max",
  };
}

export interface ChartBlock {
  readonly title: string;
  readonly trials: readonly number[];
  readonly view: ChartView;
}

const names = ["title", "trials", "metric", "x", "log", "smooth", "group", "band"];

/** A chart as a note has it between ```chart and ```; a text: what is wrong with it. */
export function parseBlock(text: string, trialsMax: number): ChartBlock | string {
  const values: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    const [, name = "", value = ""] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (!names.includes(name)) return `“${line}” is not a line of a chart. Use a name and a value, as in “metric: loss”. The names are: ${names.join(", ")}.`;
    values[name] = value;
  }
  const trials = [...new Set((values.trials ?? "").split(/[\s,]+/).filter((id) => id !== "").map(Number))];
  if (trials.length === 0) return "The chart has no trials. Add a line with their IDs, as in “trials: 3, 5”.";
  const odd = trials.find((id) => !Number.isSafeInteger(id) || id <= 0);
  if (odd !== undefined) return `“trials: ${values.trials}”: the IDs of trials are positive whole numbers.`;
  if (trials.length > trialsMax) return `The chart has ${trials.length} trials, and may have at most ${trialsMax}.`;
  return { title: values.title ?? "", trials, view: chartView(values) };
}

/** The block for what is shown now: `parseBlock` reads it. */
export function blockOf(trials: readonly number[], { metric, axis, log, smooth, group, band }: ChartView): string {
  const lines = [
    ["trials", trials.join(", ")],
    ["metric", metric],
    ["x", axis === "batches" ? "" : axis],
    ["log", log ? "true" : ""],
    ["smooth", smooth === 0 ? "" : String(smooth)],
    ["group", group],
    ["band", group === "" || band === "min–max" ? "" : band],
  ].filter(([, value]) => value !== "");
  return ["```chart", ...lines.map(([name, value]) => `${name}: ${value}`), "```", ""].join("\n");
}
