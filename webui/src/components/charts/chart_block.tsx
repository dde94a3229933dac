import { useMemo } from "react";
import { usePolled } from "../../api/loadable";
import { foundOrMissing, getTrial, type TrialWithExperiment } from "../../api/trials";
import { isTerminal } from "../format";
import { Loaded } from "../parts";
import { Link } from "../address/route";
import { scaleOf } from "./curves";
import { groupingsOf } from "./groupings";
import { MetricCharts, useCharts } from "./metric_charts";
import { colourAt, restColour } from "./palette";
import { useReports } from "./reports";
import { type ChartBlock as Block, parseBlock } from "./view";

const trialsMax = 40;

/** Charts as a note asks for them, with what its trials have reported by now. */
export function ChartBlock({ text }: { text: string }) {
  const block = useMemo(() => parseBlock(text, trialsMax), [text]);
  if (typeof block === "string") return <p className="problem">{block}</p>;
  return <LoadedBlock block={block} />;
}

function LoadedBlock({ block }: { block: Block }) {
  const [loaded] = usePolled(
    `chart ${block.trials.join()}`,
    (signal) => foundOrMissing(block.trials, (id) => getTrial(id, signal)),
    10_000,
    ({ found }) => found.some(({ trial }) => !isTerminal(trial.state)),
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
          {found.length > 0 && <Drawn block={block} list={found} />}
        </>
      )}
    </Loaded>
  );
}

function Drawn({ block: { title, view }, list }: { block: Block; list: readonly TrialWithExperiment[] }) {
  const key = list.map(({ trial }) => trial.id).join();
  const trialIds = useMemo(() => list.map(({ trial }) => trial.id), [key]);
  const scales = useMemo(() => new Map(list.map(({ trial, experiment }) => [trial.id, scaleOf(trial, experiment.config)])), [key]);
  const groupings = useMemo(() => groupingsOf(list.map(({ trial }) => trial)), [key]);
  const live = list.some(({ trial }) => !isTerminal(trial.state));
  const reports = useReports(trialIds, live);
  const { made } = useCharts({ trialIds, reports, scales, view, groupings, first: list[0]?.experiment.searcherMetric ?? "" });
  const shown = view.metric === "" ? made : made.filter(({ name }) => name === view.metric);
  const colours = new Map(trialIds.map((id, index) => [id, colourAt(index)]));
  return (
    <figure className="block">
      {title !== "" && <figcaption>{title}</figcaption>}
      {shown.length === 0 && (
        <p className="quiet">{!reports.complete ? "Loading metrics …" : view.metric === "" || made.length === 0 ? "No metrics were reported." : `The trials reported no metric “${view.metric}”.`}</p>
      )}
      <MetricCharts charts={shown} log={view.log} colour={({ trialId }) => colours.get(trialId) ?? restColour} />
      <p className="quiet">
        {trialIds.length > 1 ? "Trials " : "Trial "}
        {trialIds.map((id, index) => (
          <span key={id}>
            {index > 0 && ", "}
            <Link to={{ page: "trial", id, tab: "overview" }}>{id}</Link>
          </span>
        ))}
      </p>
    </figure>
  );
}
