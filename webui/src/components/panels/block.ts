/** A panel as the text of a note has it, between ```chart and ```. Pure. */

import { chartView, type ChartView } from "../charts/view";

/** So many trials are drawn as curves: more are told apart by nobody. */
export const trialsMax = 40;
/** So many in all other charts. */
export const pointsMax = 500;
export const usualNewest = 10;

/** How much of the page's width a panel takes. */
export const widths = ["full", "half", "third"] as const;
export type Width = (typeof widths)[number];

/** What is drawn, and how it is called. */
export const kinds = [
  ["curves", "curves of metrics"],
  ["parallel", "parallel coordinates"],
  ["scatter", "metric by hyperparameter"],
  ["matrix", "scatter matrix"],
  ["importance", "importance of hyperparameters"],
] as const;
export type Kind = (typeof kinds)[number][0];

export interface ChartPanel {
  readonly title: string;
  readonly kind: Kind;
  /** By their IDs; empty where experiments say which. */
  readonly trials: readonly number[];
  /** An expression, such as `lr < 1e-3 and state = COMPLETED`: trials of those that match. Empty: of all. */
  readonly experiments?: string | undefined;
  /** All trials of each experiment, instead of its best one. */
  readonly all: boolean;
  /** So many of the experiments, the newest ones. */
  readonly newest: number;
  readonly width: Width;
  readonly view: ChartView;
}

const names = ["title", "type", "trials", "experiments", "newest", "width", "metric", "x", "log", "logx", "smooth", "group", "band"];

/** The IDs of a list such as "3, 5"; a text: what is wrong with it. */
export function parseTrials(text: string): readonly number[] | string {
  const trials = [...new Set(text.split(/[\s,]+/).filter((id) => id !== "").map(Number))];
  if (trials.some((id) => !Number.isSafeInteger(id) || id <= 0)) return `“trials: ${text}”: the IDs of trials are positive whole numbers.`;
  if (trials.length > trialsMax) return `The chart has ${trials.length} trials, and may have at most ${trialsMax}.`;
  return trials;
}

/** What a block says; a text: what is wrong with it. */
export function parseBlock(text: string): ChartPanel | string {
  const values: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    const [, name = "", value = ""] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (!names.includes(name)) return `“${line}” is not a line of a chart. Use a name and a value, as in “metric: loss”. The names are: ${names.join(", ")}.`;
    values[name] = value;
  }
  const { title = "", experiments } = values;
  const kind = values.type === undefined ? "curves" : kinds.find(([name]) => name === values.type)?.[0];
  if (kind === undefined) return `“type: ${values.type}”: must be one of ${kinds.map(([name]) => name).join(", ")}.`;
  const all = experiments !== undefined && values.trials === "all";
  const trials = all ? [] : parseTrials(values.trials ?? "");
  if (typeof trials === "string") return trials;
  if (trials.length === 0 && experiments === undefined)
    return "The chart has no trials. Add a line with their IDs, as in “trials: 3, 5”, or with a filter of experiments, as in “experiments: lr < 0.1”.";
  if (trials.length > 0 && experiments !== undefined) return "The chart names both trials and experiments. Remove one of the two lines, or write “trials: all” for all trials of the experiments.";
  const newest = values.newest === undefined ? usualNewest : Number(values.newest);
  if (!Number.isSafeInteger(newest) || newest < 1 || newest > trialsMax) return `“newest: ${values.newest}”: must be a whole number from 1 to ${trialsMax}.`;
  const width = values.width === undefined ? "full" : widths.find((name) => name === values.width);
  if (width === undefined) return `“width: ${values.width}”: must be one of ${widths.join(", ")}.`;
  return { title, kind, trials, experiments, all, newest, width, view: chartView(values) };
}

/** The block of a panel: `parseBlock` reads it. */
export function blockText({ title, kind, trials, experiments, all, newest, width, view: { metric, axis, log, logX, smooth, group, band } }: ChartPanel): string {
  const oneLine = (text: string) => text.replace(/[\s`]*\n[\s`]*/g, " ").trim();
  const lines: readonly (readonly [name: string, value: string, said: boolean])[] = [
    ["title", oneLine(title), title.trim() !== ""],
    ["type", kind, kind !== "curves"],
    ["trials", trials.join(", "), experiments === undefined],
    ["experiments", oneLine(experiments ?? ""), experiments !== undefined],
    ["trials", "all", experiments !== undefined && all],
    ["newest", String(newest), experiments !== undefined && newest !== usualNewest],
    ["width", width, width !== "full"],
    ["metric", metric, metric !== ""],
    ["x", axis, axis !== "batches"],
    ["log", "true", log],
    ["logx", "true", logX],
    ["smooth", String(smooth), smooth !== 0],
    ["group", group, group !== ""],
    ["band", band, group !== "" && band !== "min–max"],
  ];
  return ["```chart", ...lines.filter(([, , said]) => said).map(([name, value]) => `${name}: ${value}`.trimEnd()), "```", ""].join("\n");
}

/** The panel that shows these trials as a page shows them now. */
export const panelOf = (trials: readonly number[], view: ChartView): ChartPanel => ({ title: "", kind: "curves", trials, all: false, newest: usualNewest, width: "full", view });
