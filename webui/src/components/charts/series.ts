/** What is done with curves before they are drawn or taken away: pure. */

import type { MetricReport } from "../../api/types";
import { csvText } from "./csv";
import { count, toNumber } from "../format";

type Value = number | null | undefined;

/**
 * An exponential moving average over what is on the x axis: a value that is as far before another as two reports usually are
 * counts `weight` times as much, one that is twice as far `weight`² times, so that reports may come at any pace. Without
 * the pull to 0 at the beginning. What is missing stays missing; a gap begins anew.
 */
export function smooth(xs: readonly number[], values: readonly Value[], weight: number): Value[] {
  if (weight <= 0) return [...values];
  const known = xs.filter((_, i) => typeof values[i] === "number");
  const usual = ((known.at(-1) ?? 0) - (known[0] ?? 0)) / Math.max(1, known.length - 1) || 1;
  let [sum, total, last] = [0, 0, 0];
  return values.map((value, i) => {
    if (value === undefined) return undefined;
    if (value === null) {
      [sum, total] = [0, 0];
      return null;
    }
    const x = xs[i] ?? 0;
    const kept = total === 0 ? 0 : weight ** ((x - last) / usual);
    [sum, total, last] = [sum * kept + value, total * kept + 1, x];
    return sum / total;
  });
}

/** Where a curve has a value that no line reaches, because before and after it there is a gap, or nothing at all. */
export function isolated(values: readonly Value[]): number[] {
  // What is undefined is drawn through: only values and gaps are neighbours.
  const known = values.flatMap((value, index) => (value === undefined ? [] : [index]));
  const empty = (at: number) => typeof values[known[at] ?? -1] !== "number";
  return known.filter((_, at) => !empty(at) && empty(at - 1) && empty(at + 1));
}

/** Between which two values a curve is at `x`: their indices, twice the same where it is at one; undefined: nowhere. */
export function neighbours(xs: readonly number[], ys: readonly Value[], x: number): readonly [number, number] | undefined {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) < x) low = middle + 1;
    else high = middle;
  }
  let [before, after] = [xs[low] === x ? low : low - 1, low];
  while (before >= 0 && ys[before] === undefined) before -= 1;
  while (after < xs.length && ys[after] === undefined) after += 1;
  const [first, last] = [typeof ys[before] === "number", typeof ys[after] === "number"];
  if (first && last) return [before, after];
  return undefined;
}

/** A power of ten by which values are divided to be drawn: axes have labels only where numbers have not too many digits. */
export function unitOf(columns: readonly (readonly Value[])[]): number {
  let greatest = 0;
  for (const column of columns) for (const value of column) greatest = Math.max(greatest, Math.abs(value ?? 0));
  return greatest === 0 || (greatest >= 1e-6 && greatest < 1e12) ? 1 : Number(`1e${Math.floor(Math.log10(greatest))}`);
}

export const inUnits = (values: readonly Value[], unit: number): readonly Value[] =>
  unit === 1 ? values : values.map((value) => (typeof value === "number" ? value / unit : value));

/** Why some values are not in a chart. */
export const notDrawn = (values: number): string => `${count(values, "value")} ${values === 1 ? "is" : "are"} NaN or infinite and not shown`;

/** Reports as a table for other programs: a row each, a column for each metric, as RFC 4180 has it. */
export function csv(reports: readonly MetricReport[]): string {
  const values = ({ metrics }: MetricReport) => metrics.validation_metrics ?? metrics.avg_metrics ?? {};
  const names = [...new Set(reports.flatMap((report) => Object.keys(values(report))))].sort();
  const rows = reports.map((report) => {
    const own = values(report);
    const numbers = names.map((name) => toNumber(own[name]) ?? own[name]);
    return [report.trialId, report.group, report.totalBatches, report.numInputs || "", report.endTime, ...numbers.map((n) => (typeof n === "number" ? String(n) : n))];
  });
  const head = ["trial", "group", "batches", "records", "time", ...names];
  return csvText([head, ...rows]);
}
