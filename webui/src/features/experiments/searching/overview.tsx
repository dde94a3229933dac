import { useMemo, useRef } from "react";
import type { Experiment, Trial } from "../../../api/types";
import { lengthText, smallerIsBetter, withDirection } from "../../../components/config";
import { scaleOf } from "../../../components/charts/curves";
import { count, formatBytes, formatNumber, isTerminal } from "../../../components/format";
import { gitText } from "../../../components/git";
import { groupingsOf } from "../../../components/charts/groupings";
import { Metrics } from "../../../components/charts/metrics";
import { colourAt, keptPlaces, restColour } from "../../../components/charts/palette";
import { Choice, Pairs, Panel } from "../../../components/parts";
import { useParameter } from "../../../components/address/route";
import { bestTrials } from "./best";
import { LogRetention } from "../changing/log_retention";
import { type Rung, rungs } from "./rungs";
import { TrialTable } from "../trial_table";

const tops = ["4", "8", "16", "32", "100"] as const;
const tableMax = 10;

/** The experiment at a glance: the best trials' curves, the search's progress, the trials. */
export function Overview({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const smaller = smallerIsBetter(experiment.config);
  const [top, setTop] = useParameter("top", "8");
  const best = useMemo(() => bestTrials(trials, smaller), [trials, smaller]);
  const shown = best.slice(0, Number(top) || 8);
  const ids = shown.map(({ id }) => id).sort((a, b) => a - b);
  const key = ids.join();
  // Trials keep their colours when others come among the best.
  const places = useRef<ReadonlyMap<number, number>>(new Map());
  const colours = useMemo(() => {
    places.current = keptPlaces(places.current, ids);
    return new Map([...places.current].map(([id, place]) => [id, colourAt(place)]));
  }, [key]);
  const groupings = useMemo(() => groupingsOf(shown), [key]);
  const scales = useMemo(() => new Map(shown.map((trial) => [trial.id, scaleOf(trial, experiment.config)])), [key, experiment.config]);
  return (
    <>
      {trials.length > 8 && (
        <p className="row quiet">
          <Choice label="Show best" value={top} options={tops.map((n) => [n, n] as const)} onChange={setTop} /> of{" "}
          {trials.length} trials
        </p>
      )}
      <Metrics
        trialIds={ids}
        scales={scales}
        live={!isTerminal(experiment.state)}
        first={experiment.searcherMetric}
        colour={trials.length > 1 ? ({ trialId }) => colours.get(trialId) ?? restColour : undefined}
        groupings={groupings}
      />
      <div className="columns">
        {trials.length > 1 && <Rungs rungs={rungs(trials, smaller)} metric={experiment.searcherMetric} />}
        <Panel title="Details">
          <Pairs
            rows={[
              ["Searcher", experiment.searcherType],
              ["Metric", withDirection(experiment.searcherMetric, smaller)],
              ["Longest trial", lengthText(experiment.config)],
              experiment.unmanaged ? ["Execution", "outside the cluster (unmanaged)"] : ["Resource pool", experiment.resourcePool],
              ["Checkpoints", `${experiment.checkpointCount}, ${formatBytes(Number(experiment.checkpointSize))}`],
              ["Log retention", <LogRetention key="logs" experiment={experiment} trials={trials} />],
              ["Submitted files", formatBytes(experiment.modelDefinitionSize)],
              ...(experiment.git?.commit ? ([["Git", gitText(experiment.git)]] as const) : []),
            ]}
          />
        </Panel>
      </div>
      <Panel title={trials.length > tableMax ? "Best trials" : "Trials"}>
        <TrialTable
          trials={trials.length > tableMax ? best.slice(0, tableMax) : trials}
          metric={experiment.searcherMetric}
          best={experiment.bestTrialId ?? undefined}
          colours={trials.length > 1 ? colours : undefined}
          order={trials.length > tableMax ? (smaller ? "metric" : "-metric") : "id"}
        />
      </Panel>
    </>
  );
}

/** How many trials were trained how far: what the search keeps, and what it stops. */
export function Rungs({ rungs: all, metric }: { rungs: readonly Rung[]; metric: string }) {
  const most = Math.max(1, ...all.map(({ entered }) => entered));
  return (
    <Panel title="Progress of the search">
      {all.length === 0 && <p className="quiet">No trials have started yet.</p>}
      {all.map(({ length, entered, reached, promoted, stopped, best }, index) => (
        <div key={length} className="rung">
          <span className="number">{count(length, "batch", "batches")}</span>
          <progress max={most} value={reached} aria-label={`${count(reached, "trial")} reached ${count(length, "batch", "batches")}`} />
          <span>
            {reached} of {entered} reached{promoted > 0 && `, ${promoted} promoted`}
            {stopped > 0 && `, ${stopped} ${index < all.length - 1 ? "stopped" : "ended"}`}
            {best !== undefined && (
              <span className="quiet" title={`Best ${metric} of the trials that reached it`}>
                {" "}
                · best {formatNumber(best)}
              </span>
            )}
          </span>
        </div>
      ))}
    </Panel>
  );
}
