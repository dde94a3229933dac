import { useEffect, useMemo, useState } from "react";
import { changes, type Topic } from "../../api/changes";
import { ApiError, stream } from "../../api/client";
import { toApiError } from "../../api/loadable";
import { type Bell, repeat } from "../../api/repeat";
import type { MetricReport } from "../../api/types";

/** Of one trial, and of several. */
const [oneMs, manyMs] = [1000, 3000];
/** Of so many trials the master tells at most: their ids are part of an address. */
const heardMax = 200;
/** Of all curves together: more than a screen shows, and drawn in a moment. */
const pointsMax = 20_000;

/** How many of each curve's are asked for where so many trials are shown. */
export const pointsOf = (trials: number) => Math.max(200, Math.min(2000, Math.floor(pointsMax / Math.max(1, trials))));

export interface Reports {
  readonly key: string;
  readonly list: readonly MetricReport[];
  readonly complete: boolean;
  readonly error?: ApiError;
}

/** All that some trials reported, as it was reported. */
export async function allReports(trialIds: readonly number[]): Promise<MetricReport[]> {
  const list: MetricReport[] = [];
  if (trialIds.length > 0)
    await stream("/api/v1/trials/metrics/trial_metrics", { query: { trialIds } }, new AbortController().signal, (items) => {
      for (const item of items) list.push(...item.metrics);
    });
  return list;
}

const sameReport = (a: MetricReport, b: MetricReport | undefined) =>
  a.trialId === b?.trialId && a.totalBatches === b.totalBatches && a.group === b.group && a.endTime === b.endTime;

/** What is there already where the answer says nothing else, so that nothing is drawn again. */
export const newest = (before: readonly MetricReport[], read: readonly MetricReport[]): readonly MetricReport[] =>
  before.length === read.length && read.every((report, index) => sameReport(report, before[index])) ? before : read;

/**
 * The reports of some trials, of long curves as many as a chart shows (the
 * server leaves out no peak). While `live`, they are read again when there are new ones.
 */
export function useReports(trialIds: readonly number[], live: boolean, group: "all" | "validation" = "all"): Reports {
  const key = `${group}:${trialIds.join(",")}`;
  const nothing = useMemo((): Reports => ({ key, list: [], complete: false }), [key]);
  const [reports, setReports] = useState(nothing);

  useEffect(() => {
    const abort = new AbortController();
    const ids = key.slice(key.indexOf(":") + 1).split(",").filter((id) => id !== "").map(Number);
    const change = (what: Partial<Reports>) =>
      setReports((before) => ({ ...(before.key === key ? before : nothing), ...what }));
    const read = async () => {
      const list: MetricReport[] = [];
      const query = { trialIds: ids, maxDatapoints: pointsOf(ids.length) };
      const path = group === "all" ? "/api/v1/trials/metrics/trial_metrics" : "/api/v1/trials/metrics/validation_metrics";
      if (ids.length > 0)
        await stream(path, { query }, abort.signal, (items) => {
          for (const item of items) list.push(...item.metrics);
        });
      if (!abort.signal.aborted)
        setReports((before) => ({ key, list: newest(before.key === key ? before.list : [], list), complete: true }));
      return live ? ("again" as const) : ("last" as const);
    };
    const trouble = (text: string) => {
      if (text !== "") change({ complete: true, error: new ApiError(0, text) });
    };
    const bell: Bell = {
      on: (ring) => changes.on(live ? ids.slice(0, heardMax).map((id): Topic => `trial ${id}`) : [], ring),
      leastMs: ids.length === 1 ? 100 : 1000,
      works: () => ids.length <= heardMax && changes.works(),
    };
    repeat(read, ids.length === 1 ? oneMs : manyMs, abort.signal, trouble, bell).catch((cause: unknown) => {
      if (!abort.signal.aborted) change({ complete: true, error: toApiError(cause) });
    });
    return () => abort.abort();
  }, [key, group, live]);

  return reports.key === key ? reports : nothing;
}
