/** What is done with curves before they are drawn or taken away: pure. */

import type { MetricReport } from "../api/types";
import { csvText } from "./csv";
import { toNumber } from "./format";

type Value = number | null | undefined;

/**
 * An exponential moving average: each value counts `weight` times what the
 * values before it count together, without the pull to 0 at the beginning.
 * What is missing stays missing; a gap begins anew.
 */
export function smooth(values: readonly Value[], weight: number): Value[] {
  if (weight <= 0) return [...values];
  let [sum, total] = [0, 0];
  return values.map((value) => {
    if (value === undefined) return undefined;
    if (value === null) {
      [sum, total] = [0, 0];
      return null;
    }
    sum = sum * weight + value;
    total = total * weight + 1;
    return sum / total;
  });
}

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
