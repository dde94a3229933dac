import { useMemo } from "react";
import { stream } from "../../api/client";
import { usePolled } from "../../api/loadable";
import type { MetricReport } from "../../api/types";
import { hardwareGroups } from "../../components/charts/hardware";
import { HardwareCharts } from "../../components/charts/hardware_charts";
import { Loaded } from "../../components/parts";

/** The profiler reports each ten seconds. */
const pollMs = 10_000;
/** A curve of more points looks the same. */
const pointsMax = 1000;

/** How busy the machines were on which a trial ran, over the time since it started. */
export function ProfilePanel({ id, startTime, live }: { id: number; startTime: string; live: boolean }) {
  const [loaded] = usePolled(`profile ${id}`, (signal) => load(id, signal), pollMs, () => live);
  const scales = useMemo(() => new Map([[id, { startTime }]]), [id, startTime]);
  return (
    <Loaded of={loaded} what="profiler data">
      {(reports) => (reports.length === 0 ? <NothingMeasured live={live} /> : <HardwareCharts reports={reports} axis="time" scales={scales} />)}
    </Loaded>
  );
}

function NothingMeasured({ live }: { live: boolean }) {
  return (
    <p className="quiet">
      {live ? "No profiler data yet." : "The profiler was not enabled."} To enable it, call <code>context.profiler.on()</code> in the training script. It samples CPU, GPU, memory, disk, and network every second.
    </p>
  );
}

async function load(id: number, signal: AbortSignal): Promise<readonly MetricReport[]> {
  const reports: MetricReport[] = [];
  const read = (group: string) =>
    stream("/api/v1/trials/metrics/trial_metrics", { query: { trialIds: [id], group, maxDatapoints: pointsMax } }, signal, (items) => reports.push(...items.flatMap(({ metrics }) => metrics)));
  await Promise.all(hardwareGroups.map(read));
  return reports;
}
