import { useEffect, useMemo } from "react";
import { post } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { foundOrMissing, getTrial, type Missing, type TrialWithExperiment } from "../../api/trials";
import type { Experiment, Trial } from "../../api/types";
import { Link } from "../address/route";
import { scaleOf } from "../charts/curves";
import { differing, groupingsOf } from "../charts/groupings";
import { MetricCharts, useCharts } from "../charts/metric_charts";
import { colourAt, restColour } from "../charts/palette";
import { useReports } from "../charts/reports";
import { isTerminal } from "../format";
import { Loaded } from "../parts";
import type { ChartPanel } from "./block";

/** What the trials of a panel can be drawn by. */
export interface Known {
  readonly metrics: readonly string[];
  readonly groups: readonly string[];
}

interface DrawnProps {
  readonly panel: ChartPanel;
  /** The project whose experiments are meant; without one, those of all. */
  readonly projectId?: number | undefined;
  readonly onKnown?: (known: Known) => void;
}

interface Trials {
  readonly found: readonly TrialWithExperiment[];
  readonly missing: readonly Missing[];
}

async function trialsOf({ trials, experiments, newest }: ChartPanel, projectId: number | undefined, signal: AbortSignal): Promise<Trials> {
  if (experiments === undefined) return foundOrMissing(trials, (id) => getTrial(id, signal));
  const place = projectId === undefined ? {} : { projectId: String(projectId) };
  const body = { query: experiments, sort: "id=desc", limit: newest, ...place };
  const reply = await post("/api/v1/experiments-search", { body }, signal);
  const found = reply.experiments.flatMap(({ experiment, bestTrial }) => (bestTrial ? [{ experiment: experiment as Experiment, trial: bestTrial as Trial }] : []));
  return { found: found.reverse(), missing: [] }; // colors stay where they are when a newer experiment comes in
}

/** What the trials of a panel have reported by now. */
export function Drawn({ panel, projectId, onKnown }: DrawnProps) {
  const { trials, experiments, newest } = panel;
  const [loaded] = usePolled(
    `panel ${JSON.stringify([trials, experiments, newest, projectId])}`,
    (signal) => trialsOf(panel, projectId, signal),
    10_000,
    ({ found }) => experiments !== undefined || found.some(({ trial }) => !isTerminal(trial.state)),
    { topics: experiments === undefined ? trials.map((id) => `trial ${id}` as const) : ["experiments"], leastMs: 2000 },
  );
  return (
    <Loaded of={loaded} what="trials">
      {({ found, missing }) => (
        <>
          {missing.map(({ id, why }) => (
            <p key={id} className="problem">
              {why}
            </p>
          ))}
          {experiments !== undefined && found.length === 0 && <p className="quiet">No experiment {experiments === "" ? "has a trial with a validation yet." : `matches “${experiments}” and has a trial with a validation.`}</p>}
          {found.length > 0 && <Charts panel={panel} list={found} onKnown={onKnown} />}
        </>
      )}
    </Loaded>
  );
}

interface ChartsProps {
  readonly panel: ChartPanel;
  readonly list: readonly TrialWithExperiment[];
  readonly onKnown: ((known: Known) => void) | undefined;
}

function Charts({ panel: { view, experiments }, list, onKnown }: ChartsProps) {
  const key = list.map(({ trial }) => trial.id).join();
  const trialIds = useMemo(() => list.map(({ trial }) => trial.id), [key]);
  const scales = useMemo(() => new Map(list.map(({ trial, experiment }) => [trial.id, scaleOf(trial, experiment.config)])), [key]);
  const groupings = useMemo(() => groupingsOf(list.map(({ trial }) => trial)), [key]);
  const live = list.some(({ trial }) => !isTerminal(trial.state));
  const reports = useReports(trialIds, live);
  const { made } = useCharts({ trialIds, reports, scales, view, groupings, first: list[0]?.experiment.searcherMetric ?? "" });
  const shown = view.metric === "" ? made : made.filter(({ name }) => name === view.metric);
  const colours = new Map(trialIds.map((id, index) => [id, colourAt(index)]));
  const metrics = made.map(({ name }) => name).join("\n");
  useEffect(() => onKnown?.({ metrics: metrics.split("\n"), groups: differing(groupings) }), [metrics, groupings, onKnown]);
  return (
    <>
      {shown.length === 0 && (
        <p className="quiet">{!reports.complete ? "Loading metrics …" : view.metric === "" || made.length === 0 ? "No metrics were reported." : `The trials reported no metric “${view.metric}”.`}</p>
      )}
      <MetricCharts charts={shown} log={view.log} colour={({ trialId }) => colours.get(trialId) ?? restColour} />
      <p className="quiet">
        {experiments !== undefined ? "Best trials: " : trialIds.length > 1 ? "Trials " : "Trial "}
        {trialIds.map((id, index) => (
          <span key={id}>
            {index > 0 && ", "}
            <Link to={{ page: "trial", id, tab: "overview" }}>{id}</Link>
          </span>
        ))}
      </p>
    </>
  );
}
