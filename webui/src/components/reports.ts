import { useEffect, useState } from "react";
import { type ApiError, stream } from "../api/client";
import { toApiError } from "../api/loadable";
import type { MetricReport } from "../api/types";

const pollMs = 3000;
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

interface MetricsReply {
  readonly metrics: readonly MetricReport[];
}

/** All that some trials reported, as it was reported. */
export async function allReports(trialIds: readonly number[]): Promise<MetricReport[]> {
  const list: MetricReport[] = [];
  if (trialIds.length > 0)
    await stream<MetricsReply>("trials/metrics/trial_metrics", { trialIds: trialIds.map(String) }, new AbortController().signal, (items) => {
      for (const item of items) list.push(...item.metrics);
    });
  return list;
}

/**
 * The reports of some trials, of long curves as many as a chart shows (the
 * server leaves out no peak). One trial is followed by a stream; several are
 * read again every few seconds while `live`, because a browser opens only a
 * few connections to one server.
 */
export function useReports(trialIds: readonly number[], live: boolean, group: "all" | "validation" = "all"): Reports {
  const key = `${group}:${trialIds.join(",")}`;
  const [reports, setReports] = useState<Reports>({ key, list: [], complete: false });

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ids = key.slice(key.indexOf(":") + 1).split(",").filter((id) => id !== "");
    const follow = live && ids.length === 1 && group === "all";
    const run = async () => {
      let list: MetricReport[] = [];
      try {
        const path = follow ? `trials/${ids[0]}/metrics/follow` : `trials/metrics/${group === "all" ? "trial" : group}_metrics`;
        const maxDatapoints = pointsOf(ids.length);
        const parameters = follow ? { maxDatapoints } : { trialIds: ids, maxDatapoints };
        if (ids.length > 0)
          await stream<MetricsReply>(path, parameters, abort.signal, (items) => {
            list = list.concat(items.flatMap((item) => item.metrics));
            if (follow) setReports({ key, list, complete: true });
          });
        if (!abort.signal.aborted) setReports({ key, list, complete: true });
      } catch (cause) {
        if (abort.signal.aborted) return;
        setReports((before) => ({ ...before, key, complete: true, error: toApiError(cause) }));
      }
      if (live && !abort.signal.aborted) timer = setTimeout(() => void run(), pollMs);
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, group, live]);

  return reports.key === key ? reports : { key, list: [], complete: false };
}
