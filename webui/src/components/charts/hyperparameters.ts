/** The hyperparameters of a search's trials as numbers that can be drawn: pure. */

import type { Trial } from "../../api/types";
import { flatten, toNumber } from "../format";

/** One hyperparameter that differs between trials. */
export interface Dimension {
  readonly name: string;
  readonly kind: "number" | "category";
  /** Drawn logarithmically. */
  readonly log: boolean;
  /** The values of a category, in order. */
  readonly categories: readonly string[];
  readonly min: number;
  readonly max: number;
}

/** One trial as a point: a value for each dimension, and its metric. */
export interface Point {
  readonly trialId: number;
  /** The number, or the index of the category; undefined where the trial lacks it. */
  readonly values: readonly (number | undefined)[];
  readonly texts: readonly string[];
  readonly metric: number;
}

export interface Space {
  readonly dimensions: readonly Dimension[];
  readonly points: readonly Point[];
}

/** What a hyperparameter without a value is among others that are numbers: none. */
const none = "null";

/** How a configuration searches a hyperparameter ("log", "double" …), where it says so: `lr`, or `net.width` of a map. */
export function searchedAs(config: unknown, name: string): string | undefined {
  const at = (value: unknown, key: string) =>
    typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
  const found = name.split(".").reduce(at, at(config, "hyperparameters"));
  const type = at(found, "type");
  return typeof type === "string" ? type : undefined;
}

/** Drawn logarithmically is what is searched so; of what is chosen among values, what spans much more than a power of ten. */
const isLog = (type: string | undefined, min: number, max: number) =>
  min > 0 && (type === "log" || (type !== "double" && type !== "int" && max / min >= 50));

/** `texts`: of the trials that have it; `lacking`: others do not; `type`: as what it is searched. */
function dimension(name: string, texts: readonly string[], lacking: boolean, type: string | undefined): Dimension | undefined {
  const distinct = [...new Set(texts)];
  if (distinct.length + Number(lacking) < 2) return undefined;
  const values = distinct.filter((text) => text !== none);
  const numbers = values.map((text) => (text.trim() === "" ? Number.NaN : Number(text)));
  if (numbers.length > 0 && numbers.every(Number.isFinite)) {
    const [min, max] = [Math.min(...numbers), Math.max(...numbers)];
    return { name, kind: "number", log: isLog(type, min, max), categories: [], min, max };
  }
  const categories = distinct.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  return { name, kind: "category", log: false, categories, min: 0, max: categories.length - 1 };
}

type Subject = Pick<Trial, "id" | "hparams" | "searcherMetricValue">;

/** The trials that have a finite metric, over the hyperparameters in which they differ, drawn as `config` searches them. */
export function space(trials: readonly Subject[], config?: unknown): Space {
  const rows = trials.flatMap((trial) => {
    const metric = toNumber(trial.searcherMetricValue);
    return metric === undefined || !Number.isFinite(metric) ? [] : [{ trial, metric, texts: new Map(flatten(trial.hparams)) }];
  });
  const names = [...new Set(rows.flatMap(({ texts }) => [...texts.keys()]))].sort((a, b) => a.localeCompare(b));
  const dimensions = names.flatMap((name) => {
    const texts = rows.flatMap((row) => row.texts.get(name) ?? []);
    return dimension(name, texts, texts.length < rows.length, searchedAs(config, name)) ?? [];
  });
  const points = rows.map(({ trial, metric, texts }) => ({
    trialId: trial.id,
    metric,
    texts: dimensions.map(({ name }) => texts.get(name) ?? ""),
    values: dimensions.map(({ name, kind, categories }) => {
      const text = texts.get(name);
      if (text === undefined || (kind === "number" && text === none)) return undefined;
      return kind === "number" ? Number(text) : categories.indexOf(text);
    }),
  }));
  return { dimensions, points };
}

/** Where a value is between the dimension's least (0) and greatest (1). */
export function fraction({ min, max, log }: Pick<Dimension, "min" | "max" | "log">, value: number): number {
  if (max === min) return 0.5;
  return log ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
}

/** The value at a fraction: what `fraction` undoes. */
export function valueAt({ min, max, log }: Pick<Dimension, "min" | "max" | "log">, part: number): number {
  return log ? min * (max / min) ** part : min + (max - min) * part;
}

/** Ranks from 0 (best) to 1 (worst), equal values equal: colours that one outlier does not flatten. */
export function quality(metrics: readonly number[], smallerIsBetter: boolean): number[] {
  const order = [...new Set(metrics)].sort((a, b) => (smallerIsBetter ? a - b : b - a));
  const place = new Map(order.map((value, index) => [value, order.length < 2 ? 0 : index / (order.length - 1)]));
  return metrics.map((value) => place.get(value) ?? 1);
}

/** A colour from blue (0, best) over grey-green to orange (1, worst), legible on white and on black. */
export function colourOf(part: number): string {
  const stops: readonly (readonly [number, number, number])[] = [
    [48, 105, 222],
    [60, 165, 150],
    [205, 165, 50],
    [214, 96, 44],
  ];
  const at = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(at));
  const [from, to] = [stops[index], stops[index + 1]];
  if (from === undefined || to === undefined) return "#888888";
  const mix = from.map((c, i) => Math.round(c + ((to[i] ?? c) - c) * (at - index)));
  return `rgb(${mix.join(", ")})`;
}
