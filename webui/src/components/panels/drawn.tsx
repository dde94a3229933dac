import { type ReactNode, useEffect, useMemo } from "react";
import { get, post } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { foundOrMissing, getTrial, type Missing, type TrialWithExperiment } from "../../api/trials";
import type { Experiment, Trial } from "../../api/types";
import { Link } from "../address/route";
import { scaleOf } from "../charts/curves";
import { Dot } from "../charts/dot";
import { differing, groupingsOf } from "../charts/groupings";
import { MetricCharts, useCharts } from "../charts/metric_charts";
import { colourAt, restColour } from "../charts/palette";
import { useReports } from "../charts/reports";
import { count, isTerminal } from "../format";
import { Loaded } from "../parts";
import { ParallelCoordinates } from "../search/parallel";
import { ImportanceBars } from "../search/importance_bars";
import { isEnough, type Picture, pictureOf } from "../search/picture";
import { ScatterPlots } from "../search/scatter";
import { ScatterMatrix } from "../search/scatter_matrix";
import { type ChartPanel, type Kind, pointsMax, trialsMax } from "./block";

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
  /** So many more match. */
  readonly left: number;
}

async function trialsOf({ kind, trials, experiments, all, newest }: ChartPanel, projectId: number | undefined, signal: AbortSignal): Promise<Trials> {
  if (experiments === undefined) return { ...(await foundOrMissing(trials, (id) => getTrial(id, signal))), left: 0 };
  const place = projectId === undefined ? {} : { projectId: String(projectId) };
  const body = { query: experiments, sort: "id=desc", limit: newest, includeConfig: true, ...place };
  const reply = await post("/api/v1/experiments-search", { body }, signal);
  const max = kind === "curves" ? trialsMax : pointsMax;
  const found = await Promise.all(
    reply.experiments.map(async ({ experiment: one, bestTrial }) => {
      const experiment = one as Experiment;
      // Before the first validation none is the best; the first trial of one that runs may have reported something.
      const trials = bestTrial && !all ? [bestTrial as Trial] : all || !isTerminal(experiment.state) ? await trialsOfExperiment(experiment, all ? max : 1, signal) : [];
      return trials.map((trial) => ({ experiment, trial }));
    }),
  );
  const list = found.flat();
  const total = all ? reply.experiments.reduce((sum, { experiment: { numTrials } }) => sum + numTrials, 0) : list.length;
  // In the order of their IDs: a newer one takes no color from another, as long as none is left out.
  const shown = list.slice(0, max).sort((a, b) => a.trial.id - b.trial.id);
  return { found: shown, missing: [], left: total - shown.length };
}

/** The best ones first. */
async function trialsOfExperiment({ id }: Experiment, limit: number, signal: AbortSignal): Promise<readonly Trial[]> {
  const query = { limit, sortBy: "SORT_BY_BEST_VALIDATION_METRIC" };
  return (await get("/api/v1/experiments/{experimentId}/trials", { path: { experimentId: id }, query }, signal)).trials as readonly Trial[];
}

/** What the trials of a panel have reported by now. */
export function Drawn({ panel, projectId, onKnown }: DrawnProps) {
  const { kind, trials, experiments, all, newest } = panel;
  const [loaded] = usePolled(
    `panel ${JSON.stringify([kind === "curves", trials, experiments, all, newest, projectId])}`,
    (signal) => trialsOf(panel, projectId, signal),
    10_000,
    ({ found }) => experiments !== undefined || found.some(({ trial }) => !isTerminal(trial.state)),
    { topics: experiments === undefined ? trials.map((id) => `trial ${id}` as const) : ["experiments"], leastMs: 2000 },
  );
  return (
    <Loaded of={loaded} what="trials">
      {({ found, missing, left }) => (
        <>
          {missing.map(({ id, why }) => (
            <p key={id} className="problem">
              {why}
            </p>
          ))}
          {experiments !== undefined && found.length === 0 && <p className="quiet">{experiments === "" ? "No experiment has a trial yet." : `No experiment with a trial matches “${experiments}”.`}</p>}
          {found.length > 0 && (kind === "curves" ? <Curves panel={panel} list={found} onKnown={onKnown} /> : <SearchPicture kind={kind} list={found} />)}
          {left > 0 && <p className="quiet">{count(left, "more trial")} of these experiments {left === 1 ? "is" : "are"} not shown.</p>}
        </>
      )}
    </Loaded>
  );
}

interface CurvesProps {
  readonly panel: ChartPanel;
  readonly list: readonly TrialWithExperiment[];
  readonly onKnown: ((known: Known) => void) | undefined;
}

function Curves({ panel: { view, experiments, all }, list, onKnown }: CurvesProps) {
  const key = list.map(({ trial }) => trial.id).join();
  const trialIds = useMemo(() => list.map(({ trial }) => trial.id), [key]);
  const scales = useMemo(() => new Map(list.map(({ trial, experiment }) => [trial.id, scaleOf(trial, experiment.config)])), [key]);
  const groupings = useMemo(() => groupingsOf(list.map(({ trial }) => trial)), [key]);
  const live = list.some(({ trial }) => !isTerminal(trial.state));
  const reports = useReports(trialIds, live);
  const { made } = useCharts({ trialIds, reports, scales, view, groupings, first: list[0]?.experiment.searcherMetric ?? "" });
  const shown = view.metric === "" ? made : made.filter(({ name }) => name === view.metric);
  const reported = new Set(reports.list.map((report) => report.trialId));
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
        {experiments !== undefined && !all ? "Best trials: " : trialIds.length > 1 ? "Trials: " : "Trial "}
        {trialIds.filter((id) => reported.has(id)).map((id) => (
          <span key={id} className="trial">
            {view.group === "" && <Dot colour={colours.get(id)} />} <Link to={{ page: "trial", id, tab: "overview" }}>{id}</Link>{" "}
          </span>
        ))}
      </p>
    </>
  );
}

const drawnAs: Readonly<Record<Exclude<Kind, "curves">, (picture: Picture) => ReactNode>> = {
  parallel: (picture) => <ParallelCoordinates picture={picture} />,
  scatter: (picture) => <ScatterPlots picture={picture} />,
  matrix: (picture) => <ScatterMatrix picture={picture} />,
  importance: ({ space }) => <ImportanceBars space={space} />,
};

/** Hyperparameters of trials, and the metric of their searches. */
function SearchPicture({ kind, list }: { kind: Exclude<Kind, "curves">; list: readonly TrialWithExperiment[] }) {
  const metric = list.at(-1)?.experiment.searcherMetric ?? "";
  const same = list.filter(({ experiment }) => experiment.searcherMetric === metric);
  const key = same.map(({ trial }) => `${trial.id}:${trial.searcherMetricValue ?? ""}`).join();
  const picture = useMemo(() => pictureOf(same.map(({ trial }) => trial), list.at(-1)?.experiment.config, metric), [key, metric]);
  return (
    <>
      {same.length < list.length && <p className="quiet">Only the trials whose search is for {metric} are shown.</p>}
      {isEnough(picture) ? drawnAs[kind](picture) : <p className="quiet">Shown once two trials with different hyperparameters have reported {metric}.</p>}
    </>
  );
}
