/** Where on an axis of training a moment is. Pure. */

import type { MetricReport } from "../../api/types";
import { type Axis, position, type Scale } from "./curves";
import { ofHardware } from "./hardware";

type Reported = Pick<MetricReport, "trialId" | "endTime" | "totalBatches" | "group">;

/**
 * Says where on the axis something is that was measured at some moment, such as the use of a processor: between the reports of its
 * trial before and after, by time. Undefined before the first report and after the last, except where the axis is one of time.
 */
export function placing(reports: readonly Reported[], axis: Axis, scales: ReadonlyMap<number, Scale>): (measured: Reported) => number | undefined {
  if (axis === "time" || axis === "wall time") return (measured) => position(measured, axis, scales.get(measured.trialId));
  const known = new Map<number, { ms: number; x: number }[]>();
  for (const report of reports) {
    if (ofHardware(report)) continue; // These count seconds in place of batches.
    const x = position(report, axis, scales.get(report.trialId));
    if (x === undefined) continue;
    const own = known.get(report.trialId) ?? [];
    own.push({ ms: Date.parse(report.endTime), x });
    known.set(report.trialId, own);
  }
  for (const own of known.values()) own.sort((a, b) => a.ms - b.ms);
  return ({ trialId, endTime }) => {
    const own = known.get(trialId) ?? [];
    const ms = Date.parse(endTime);
    let [low, high] = [0, own.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((own[middle]?.ms ?? 0) < ms) low = middle + 1;
      else high = middle;
    }
    const [before, after] = [own[low - 1], own[low]];
    if (after?.ms === ms) return after.x;
    if (before === undefined || after === undefined) return undefined;
    return before.x + ((after.x - before.x) * (ms - before.ms)) / (after.ms - before.ms);
  };
}
