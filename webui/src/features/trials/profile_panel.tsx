import { useMemo } from "react";
import { usePolled } from "../../api/loadable";
import type { MetricReport } from "../../api/types";
import { Chart } from "../../components/charts/chart";
import { Loaded } from "../../components/parts";
import { listReports } from "./api";
import { profileCharts, profileGroups } from "./profile";

/** The profiler reports each ten seconds. */
const pollMs = 10_000;
/** A curve of more points looks the same. */
const pointsMax = 1000;

/** How busy the machines were on which a trial ran. */
export function ProfilePanel({ id, startTime, live }: { id: number; startTime: string; live: boolean }) {
  const [loaded] = usePolled(
    `profile ${id}`,
    async (signal) => (await Promise.all(profileGroups.map((group) => listReports(id, group, pointsMax, signal)))).flat(),
    pollMs,
    () => live,
  );
  return (
    <Loaded of={loaded} what="profiler data">
      {(reports) => <Charts reports={reports} startTime={startTime} live={live} />}
    </Loaded>
  );
}

function Charts({ reports, startTime, live }: { reports: readonly MetricReport[]; startTime: string; live: boolean }) {
  const made = useMemo(() => profileCharts(reports, startTime), [reports, startTime]);
  if (made.length === 0)
    return (
      <p className="quiet">
        {live ? "No profiler data yet." : "The profiler was not enabled."} To enable it, call <code>context.profiler.on()</code>in the training script. It samples CPU, GPU, memory, disk, and network every second.
      </p>
    );
  return (
    <>
      <div className="charts">
        {made.map((chart) => (
          <Chart key={chart.name} chart={chart} log={false} />
        ))}
      </div>
      <p className="quiet">Of whole machines, with all that runs on them; averages of ten seconds, over the time since the trial began.</p>
    </>
  );
}
