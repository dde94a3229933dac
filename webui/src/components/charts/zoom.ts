/** A part of a chart in more detail than the whole: what to ask for, and how it goes into the whole. Pure. */

import type { MetricReport } from "../../api/types";
import { type Axis, position, type Scale } from "./curves";

/** What a chart shows of its x axis. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A range as the address has it: "1000~2500". */
export const rangeText = ({ from, to }: Range) => `${Number(from.toPrecision(8))}~${Number(to.toPrecision(8))}`;

export function parseRange(text: string): Range | undefined {
  const [from, to, more] = text.split("~").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  if (from === undefined || to === undefined || more !== undefined) return undefined;
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? { from, to } : undefined;
}

/** What a long trial's reports say from one to another number of batches, both included. */
export interface Detail {
  readonly start: number;
  readonly end: number;
  readonly list: readonly MetricReport[];
}

/**
 * The batches that lie in a range of the axis, with the report before and the one after it, so that the curve reaches the
 * edges; undefined where no report is that of a long curve: then all that there is is here. `thinnedFrom`: a curve of as
 * many reports may have been thinned out.
 */
export function batchesOf(
  range: Range,
  reports: readonly MetricReport[],
  axis: Axis,
  scales: ReadonlyMap<number, Scale>,
  thinnedFrom: number,
): { readonly start: number; readonly end: number } | undefined {
  const counts = new Map<string, number>();
  // Of each trial: a number of batches means something else of another one where the axis is time.
  const edges = new Map<number, { before: number; after: number; last: number }>();
  for (const report of reports) {
    const { trialId, group, totalBatches } = report;
    const x = position(report, axis, scales.get(trialId));
    if (x === undefined) continue;
    counts.set(`${trialId} ${group}`, (counts.get(`${trialId} ${group}`) ?? 0) + 1);
    const edge = edges.get(trialId) ?? { before: 0, after: Number.POSITIVE_INFINITY, last: 0 };
    edges.set(trialId, {
      before: x <= range.from ? Math.max(edge.before, totalBatches) : edge.before,
      after: x >= range.to ? Math.min(edge.after, totalBatches) : edge.after,
      last: Math.max(edge.last, totalBatches),
    });
  }
  if (![...counts.values()].some((count) => count >= thinnedFrom)) return undefined;
  const all = [...edges.values()];
  const start = Math.min(...all.map(({ before }) => before));
  const end = Math.max(...all.map(({ after, last }) => Math.min(after, last)));
  return start < end ? { start, end } : undefined;
}

/** The reports with those of the detail in place of what was there in between. */
export function withDetail(reports: readonly MetricReport[], detail: Detail | undefined): readonly MetricReport[] {
  if (detail === undefined || detail.list.length === 0) return reports;
  return [...reports.filter(({ totalBatches }) => totalBatches < detail.start || totalBatches > detail.end), ...detail.list];
}
