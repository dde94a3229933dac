/** Metric reports as charts: pure, so that what a chart shows can be tested. */

import type { AlignedData } from "uplot";
import type { MetricReport } from "../api/types";
import { toNumber } from "./format";

export interface MetricPoint {
  readonly trialId: number;
  readonly group: string;
  readonly name: string;
  readonly batches: number;
  readonly value: number;
}

/** One metric's curves: one sorted x column and one y column a series. */
export interface Chart {
  readonly name: string;
  readonly labels: readonly string[];
  readonly data: AlignedData;
  /** Points that cannot be drawn because they are NaN or infinite. */
  readonly notFinite: number;
}

/** The numbers in reports; text and nested values are no curves. */
export function points(reports: readonly MetricReport[]): MetricPoint[] {
  return reports.flatMap(({ trialId, group, totalBatches, metrics }) => {
    const values = metrics.validation_metrics ?? metrics.avg_metrics ?? {};
    return Object.entries(values).flatMap(([name, raw]) => {
      const value = toNumber(raw);
      return value === undefined ? [] : [{ trialId, group, name, batches: totalBatches, value }];
    });
  });
}

/**
 * Lays the points of one metric out as uPlot wants them. A series without a
 * value at some x has `undefined` there (drawn through), a value that is not
 * finite is `null` (a gap).
 */
export function chart(name: string, ofMetric: readonly MetricPoint[]): Chart {
  const batches = [...new Set(ofMetric.map((p) => p.batches))].sort((a, b) => a - b);
  const column = new Map(batches.map((b, index) => [b, index]));
  const manyTrials = new Set(ofMetric.map((p) => p.trialId)).size > 1;
  const series = new Map<string, (number | null | undefined)[]>();
  let notFinite = 0;
  for (const point of [...ofMetric].sort((a, b) => a.trialId - b.trialId || order(a.group) - order(b.group))) {
    const label = manyTrials ? `trial ${point.trialId} ${point.group}` : point.group;
    const ys = series.get(label) ?? new Array<undefined>(batches.length).fill(undefined);
    const finite = Number.isFinite(point.value);
    if (!finite) notFinite += 1;
    ys[column.get(point.batches) ?? 0] = finite ? point.value : null;
    series.set(label, ys);
  }
  return { name, labels: [...series.keys()], data: [batches, ...series.values()], notFinite };
}

const order = (group: string) => (group === "training" ? 0 : group === "validation" ? 1 : 2);

/** A chart for each metric: `first` (the search's metric) before the others, then by name. */
export function charts(all: readonly MetricPoint[], first: string): Chart[] {
  const byName = new Map<string, MetricPoint[]>();
  for (const point of all) {
    const list = byName.get(point.name);
    if (list) list.push(point);
    else byName.set(point.name, [point]);
  }
  const rank = (name: string) => (name === first ? 0 : 1);
  return [...byName]
    .sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))
    .map(([name, ofMetric]) => chart(name, ofMetric));
}
