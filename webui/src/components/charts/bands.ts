/** Curves of several trials as one: their mean, and how far they are apart. Pure. */

import type { Band, Chart, Series } from "./curves";

type Value = number | null | undefined;

export const bandKinds = ["min–max", "std", "none"] as const;
/** What lies around a mean: all values, one standard deviation on both sides, or nothing. */
export type BandKind = (typeof bandKinds)[number];

/** The values between two known ones, on the straight line through them; nothing before the first, after the last, and beside a gap. */
export function filled(xs: readonly number[], ys: readonly Value[]): Value[] {
  const all = [...ys];
  let before = -1;
  ys.forEach((value, at) => {
    if (value === undefined) return;
    const [from, to] = [ys[before], value];
    if (typeof from === "number" && typeof to === "number")
      for (let i = before + 1; i < at; i += 1) all[i] = from + ((to - from) * ((xs[i] ?? 0) - (xs[before] ?? 0))) / ((xs[at] ?? 0) - (xs[before] ?? 0) || 1);
    before = at;
  });
  return all;
}

interface Joined {
  readonly mean: readonly Value[];
  readonly low: readonly Value[];
  readonly high: readonly Value[];
}

/** At each x, of the curves that have a value there. The deviation is that of a sample. */
export function joined(curves: readonly (readonly Value[])[], kind: BandKind): Joined {
  const [mean, low, high]: [Value[], Value[], Value[]] = [[], [], []];
  for (let at = 0; at < (curves[0]?.length ?? 0); at += 1) {
    const values = curves.map((curve) => curve[at]).filter((value) => typeof value === "number");
    if (values.length === 0) {
      for (const column of [mean, low, high]) column.push(undefined);
      continue;
    }
    const middle = values.reduce((sum, value) => sum + value, 0) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
    const deviation = values.length < 2 ? 0 : Math.sqrt(squares / (values.length - 1));
    mean.push(middle);
    low.push(kind === "std" ? middle - deviation : Math.min(...values));
    high.push(kind === "std" ? middle + deviation : Math.max(...values));
  }
  return { mean, low, high };
}

/** Numbers by their size, and before texts. */
function before(a: string, b: string): number {
  const [x, y] = [Number(a), Number(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a.localeCompare(b);
  return x - y;
}

/** One curve for all trials with the same value of `name` and the same group of metrics, in the order of the values. Several trials have a band. */
export function grouped(chart: Chart, name: string, valueOf: (trialId: number) => string, kind: BandKind): Chart {
  const [xs, ...ys] = chart.data;
  const groups = new Map<string, { readonly value: string; readonly first: Series; readonly curves: Value[][] }>();
  chart.series.forEach((first, at) => {
    const value = valueOf(first.trialId);
    const key = JSON.stringify([value, first.group]);
    const group = groups.get(key) ?? { value, first, curves: [] };
    group.curves.push(filled(xs as number[], ys[at] as Value[]));
    groups.set(key, group);
  });
  const manyGroups = new Set(chart.series.map(({ group }) => group)).size > 1;
  const values = [...new Set([...groups.values()].map(({ value }) => value))].sort(before);
  const sorted = [...groups.values()].sort((a, b) => values.indexOf(a.value) - values.indexOf(b.value));
  const [series, columns, bands]: [Series[], (readonly Value[])[], Band[]] = [[], [], []];
  for (const { value, first, curves } of sorted) {
    const label = `${name} ${value}${manyGroups ? ` ${first.group}` : ""}${curves.length > 1 ? ` (${curves.length})` : ""}`;
    const { mean, low, high } = joined(curves, kind);
    const of = series.length;
    const own: Series = { ...first, label, place: values.indexOf(value) };
    series.push(own);
    columns.push(mean);
    if (kind === "none" || curves.length < 2) continue;
    series.push({ ...own, edge: true }, { ...own, edge: true });
    columns.push(low, high);
    bands.push({ of, low: of + 1, high: of + 2 });
  }
  return { ...chart, series, bands, data: [xs, ...columns] as unknown as Chart["data"] };
}
