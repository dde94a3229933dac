import { useDeferredValue, useEffect, useMemo, useState } from "react";
import { ApiError, stream } from "../api/client";
import { toApiError } from "../api/loadable";
import type { MetricReport } from "../api/types";
import { Chart } from "./chart";
import { charts, points } from "./curves";

const shownAtFirst = 6;
const pollMs = 3000;

interface Reports {
  readonly key: string;
  readonly list: readonly MetricReport[];
  readonly complete: boolean;
  readonly error?: ApiError;
}

interface MetricsReply {
  readonly metrics: readonly MetricReport[];
}

/**
 * The reports of some trials. One trial is followed by a stream; several are
 * read again every few seconds while `live`, because a browser opens only a
 * few connections to one server.
 */
function useReports(trialIds: readonly number[], live: boolean): Reports {
  const key = trialIds.join(",");
  const [reports, setReports] = useState<Reports>({ key, list: [], complete: false });

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ids = key === "" ? [] : key.split(",");
    const follow = live && ids.length === 1;
    const run = async () => {
      let list: MetricReport[] = [];
      try {
        const path = follow ? `trials/${ids[0]}/metrics/follow` : "trials/metrics/trial_metrics";
        const parameters = follow ? {} : { trialIds: ids };
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
  }, [key, live]);

  return reports.key === key ? reports : { key, list: [], complete: false };
}

/** The curves of some trials' metrics, `first` on top. */
export function Metrics({ trialIds, live, first }: { trialIds: readonly number[]; live: boolean; first: string }) {
  const reports = useReports(trialIds, live);
  const [log, setLog] = useState(false);
  const [all, setAll] = useState(false);
  const list = useDeferredValue(reports.list);
  const made = useMemo(() => charts(points(list), first), [list, first]);
  const shown = all ? made : made.slice(0, shownAtFirst);
  return (
    <section aria-label="Metrics">
      <header className="row">
        <h2>Metrics</h2>
        <label>
          <input type="checkbox" checked={log} onChange={(event) => setLog(event.target.checked)} /> logarithmic
        </label>
      </header>
      {reports.error && <p className="problem">{reports.error.message}</p>}
      {made.length === 0 && (
        <p className="quiet">{!reports.complete ? "Loading metrics …" : live ? "Nothing reported yet." : "Nothing was reported."}</p>
      )}
      <div className="charts">
        {shown.map((chart) => (
          <Chart key={chart.name} chart={chart} log={log} />
        ))}
      </div>
      {made.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {made.length} metrics
        </button>
      )}
    </section>
  );
}
