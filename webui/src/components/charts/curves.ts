/** Metric reports as charts: pure, so that what a chart shows can be tested. */

import type { AlignedData } from "uplot";
import type { MetricReport } from "../../api/types";
import { toNumber } from "../format";

export const axes = ["batches", "epochs", "records", "time", "wall time"] as const;
/** What a chart's x counts; time is in seconds since the trial started, wall time since 1970. */
export type Axis = (typeof axes)[number];

/** What of a trial turns its batches into other units. */
export interface Scale {
  readonly startTime: string;
  /** Records a batch, over all slots. */
  readonly batchSize?: number;
  /** What the trial counted, which goes before `batchSize`: all records after so many batches, ascending. */
  readonly counted?: readonly (readonly [batches: number, records: number])[];
  readonly recordsPerEpoch?: number;
}

export interface MetricPoint {
  readonly trialId: number;
  readonly group: string;
  readonly name: string;
  readonly x: number;
  readonly value: number;
}

export interface Series {
  readonly label: string;
  readonly trialId: number;
  readonly group: string;
  /** Of several trials: its place among the colours. */
  readonly place?: number;
  /** The edge of a band, and no curve. */
  readonly edge?: boolean;
}

/** The area around a mean: indices of series. */
export interface Band {
  readonly of: number;
  readonly low: number;
  readonly high: number;
}

/** One metric's curves: one sorted x column and one y column a series. */
export interface Chart {
  readonly name: string;
  readonly axis: Axis;
  readonly series: readonly Series[];
  readonly bands?: readonly Band[];
  readonly data: AlignedData;
  /** The x axis is logarithmic; what is not above 0 is not in the data. */
  readonly logX?: boolean;
  /** Points that cannot be drawn because they are NaN or infinite. */
  readonly notFinite: number;
}

/** The chart over a logarithmic x axis; over moments, as it is. */
export function overLogX(chart: Chart): Chart {
  if (chart.axis === "wall time") return chart;
  const from = chart.data[0].findIndex((x) => x > 0);
  return { ...chart, logX: true, data: chart.data.map((column) => column.slice(from < 0 ? column.length : from)) as unknown as AlignedData };
}

/** The axes that every trial has what it takes for. */
export function possibleAxes(scales: readonly Scale[]): Axis[] {
  const sizes = scales.length > 0 && scales.every(({ batchSize, counted }) => (batchSize ?? 0) > 0 || (counted ?? []).length > 0);
  const epochs = sizes && scales.every(({ recordsPerEpoch }) => (recordsPerEpoch ?? 0) > 0);
  return axes.filter((axis) => (axis === "records" ? sizes : axis === "epochs" ? epochs : true));
}

/** The records that each trial trained on, as far as all its training reports say it: what `Scale.counted` holds. */
export function countedRecords(reports: readonly MetricReport[]): Map<number, (readonly [number, number])[]> {
  const byTrial = new Map<number, MetricReport[]>();
  for (const report of reports) {
    if (report.group !== "training") continue;
    const list = byTrial.get(report.trialId);
    if (list) list.push(report);
    else byTrial.set(report.trialId, [report]);
  }
  const counted = new Map<number, (readonly [number, number])[]>();
  for (const [trialId, list] of byTrial) {
    if (list.some(({ numInputs }) => (numInputs ?? 0) <= 0)) continue;
    let sum = 0;
    const totals = list
      .sort((a, b) => a.totalBatches - b.totalBatches)
      .map(({ totalBatches, numInputs }) => [totalBatches, (sum += numInputs ?? 0)] as const);
    counted.set(trialId, totals);
  }
  return counted;
}

/** Records after so many batches: as counted, in proportion between two reports and after the last. */
function recordsAt(batches: number, scale: Scale | undefined): number {
  const counted = scale?.counted ?? [];
  let [low, high] = [0, counted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((counted[middle]?.[0] ?? 0) < batches) low = middle + 1;
    else high = middle;
  }
  const last = counted.at(-1);
  if (last === undefined) return batches * (scale?.batchSize ?? Number.NaN);
  const [above, total] = counted[low] ?? last;
  if (low === counted.length) return above > 0 ? (total / above) * batches : Number.NaN;
  const [below, before] = counted[low - 1] ?? [0, 0];
  return before + ((total - before) * (batches - below)) / (above - below || 1);
}

/** Where a report is on the axis; undefined where the trial lacks what it takes. */
export function position(report: Pick<MetricReport, "totalBatches" | "endTime">, axis: Axis, scale: Scale | undefined): number | undefined {
  const known = (n: number | undefined) => (n !== undefined && Number.isFinite(n) ? n : undefined);
  const records = recordsAt(report.totalBatches, scale);
  switch (axis) {
    case "batches":
      return report.totalBatches;
    case "records":
      return known(records);
    case "epochs":
      return known(records / (scale?.recordsPerEpoch || Number.NaN));
    case "time":
      return known((Date.parse(report.endTime) - Date.parse(scale?.startTime ?? "")) / 1000);
    case "wall time":
      return known(Date.parse(report.endTime) / 1000);
  }
}

/** The numbers in reports; text and nested values are no curves. */
export function points(reports: readonly MetricReport[], axis: Axis = "batches", scales: ReadonlyMap<number, Scale> = new Map()): MetricPoint[] {
  return reports.flatMap((report) => {
    const { trialId, group, metrics } = report;
    const x = position(report, axis, scales.get(trialId));
    if (x === undefined) return [];
    const values = metrics.validation_metrics ?? metrics.avg_metrics ?? {};
    return Object.entries(values).flatMap(([name, raw]) => {
      const value = toNumber(raw);
      return value === undefined ? [] : [{ trialId, group, name, x, value }];
    });
  });
}

/**
 * Lays the points of one metric out as uPlot wants them. A series without a
 * value at some x has `undefined` there (drawn through), a value that is not
 * finite is `null` (a gap).
 */
export function chart(name: string, ofMetric: readonly MetricPoint[], axis: Axis = "batches"): Chart {
  const xs = [...new Set(ofMetric.map((p) => p.x))].sort((a, b) => a - b);
  const column = new Map(xs.map((x, index) => [x, index]));
  const manyTrials = new Set(ofMetric.map((p) => p.trialId)).size > 1;
  const manyGroups = new Set(ofMetric.map((p) => p.group)).size > 1;
  const columns = new Map<string, { series: Series; ys: (number | null | undefined)[] }>();
  let notFinite = 0;
  for (const { trialId, group, x, value } of [...ofMetric].sort((a, b) => a.trialId - b.trialId || order(a.group) - order(b.group))) {
    const label = !manyTrials ? group : manyGroups ? `trial ${trialId} ${group}` : `trial ${trialId}`;
    let made = columns.get(label);
    if (made === undefined) {
      made = { series: { label, trialId, group }, ys: new Array<undefined>(xs.length).fill(undefined) };
      columns.set(label, made);
    }
    const finite = Number.isFinite(value);
    if (!finite) notFinite += 1;
    made.ys[column.get(x) ?? 0] = finite ? value : null;
  }
  const all = [...columns.values()];
  return { name, axis, series: all.map(({ series }) => series), data: [xs, ...all.map(({ ys }) => ys)], notFinite };
}

/** The place of the colour of a series where trials have none: the same for a group in all charts. */
export const placeOf = ({ group, place }: Series, index: number): number =>
  place ?? (group === "training" ? 0 : group === "validation" ? 1 : index);

const order = (group: string) => (group === "training" ? 0 : group === "validation" ? 1 : 2);

/** A chart for each metric: `first` (the search's metric) before the others, then by name. */
export function charts(all: readonly MetricPoint[], first: string, axis: Axis = "batches"): Chart[] {
  const byName = new Map<string, MetricPoint[]>();
  for (const point of all) {
    const list = byName.get(point.name);
    if (list) list.push(point);
    else byName.set(point.name, [point]);
  }
  const rank = (name: string) => (name === first ? 0 : 1);
  return [...byName]
    .sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))
    .map(([name, ofMetric]) => chart(name, ofMetric, axis));
}

/** What of a trial and its experiment's configuration turns batches into records and epochs. */
export function scaleOf(trial: { readonly startTime: string; readonly hparams: Readonly<Record<string, unknown>> }, config: unknown): Scale {
  const size = toNumber(trial.hparams.global_batch_size);
  const epoch =
    typeof config === "object" && config !== null && "records_per_epoch" in config ? toNumber(config.records_per_epoch) : undefined;
  return {
    startTime: trial.startTime,
    ...(size === undefined ? {} : { batchSize: size }),
    ...(epoch === undefined ? {} : { recordsPerEpoch: epoch }),
  };
}
