import { useEffect, useState } from "react";
import { get } from "../../api/client";
import type { MetricReport } from "../../api/types";
import type { Axis, Scale } from "./curves";
import { pointsOf } from "./reports";
import { batchesOf, type Detail, type Range } from "./zoom";

/** Whoever zooms goes on zooming: asked is when the range has stayed for so long. */
const pauseMs = 250;

/** The master makes fewer points than this of no curve that it thins out. */
const thinnedFrom = 100;

async function load(trialIds: readonly number[], start: number, end: number, signal: AbortSignal): Promise<Detail> {
  const parameters = { trialIds, startBatches: start, endBatches: end, maxDatapoints: pointsOf(trialIds.length) };
  const { trials } = await get("/api/v1/trials/time-series", { query: parameters }, signal);
  const list = trials.flatMap(({ trial, metrics }) =>
    metrics.flatMap(({ group, data }) =>
      data.map(({ batches, time, values }): MetricReport => ({ trialId: trial.id, trialRunId: 0, endTime: time, totalBatches: batches, group, metrics: { avg_metrics: values } })),
    ),
  );
  return { start, end, list };
}

/**
 * What the master has of long curves in a range that is looked at: of a million reports the whole shows some thousand, a part
 * of them as many again, and every peak. Without it the chart shows what it has, so that a failure is no matter.
 */
export function useDetail(trialIds: readonly number[], reports: readonly MetricReport[], axis: Axis, scales: ReadonlyMap<number, Scale>, range: Range | undefined): Detail | undefined {
  const wanted = range && batchesOf(range, reports, axis, scales, thinnedFrom);
  const key = wanted === undefined ? "" : `${trialIds.join()} ${wanted.start} ${wanted.end}`;
  const [detail, setDetail] = useState<{ key: string; value: Detail }>();

  useEffect(() => {
    if (wanted === undefined) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      load(trialIds, wanted.start, wanted.end, abort.signal).then(
        (value) => setDetail({ key, value }),
        () => {},
      );
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
    // `key` names trials and range.
  }, [key]);

  // The last one stays while the next is on its way.
  return key === "" ? undefined : detail?.value;
}
