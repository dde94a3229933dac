import { useMemo } from "react";
import type { Experiment, Trial } from "../../../api/types";
import { smallerIsBetter } from "../../../components/config";
import { Chart } from "../../../components/charts/chart";
import { charts, points, type Series } from "../../../components/charts/curves";
import { isTerminal } from "../../../components/format";
import { colourOf, fraction, quality, type Space } from "../../../components/charts/hyperparameters";
import { Choice, Panel, Problem } from "../../../components/parts";
import { useReports } from "../../../components/charts/reports";
import { useParameter } from "../../../components/address/route";
import { bestTrials } from "./best";
import { ticks } from "../../../components/search/parallel";

const trialsMax = 200;

/** The searcher metric of many trials over batches, coloured by the result or by a hyperparameter. */
export function LearningCurves({ experiment, trials, space }: { experiment: Experiment; trials: readonly Trial[]; space: Space }) {
  const smaller = smallerIsBetter(experiment.config);
  const [by, setBy] = useParameter("colour");
  const [log, setLog] = useParameter("log");
  const key = space.points.map(({ trialId }) => trialId).join();
  const ids = useMemo(() => {
    const validated = new Set(space.points.map(({ trialId }) => trialId));
    return bestTrials(trials.filter(({ id }) => validated.has(id)), smaller).slice(0, trialsMax).map(({ id }) => id).sort((a, b) => a - b);
  }, [key, smaller]);
  const reports = useReports(ids, !isTerminal(experiment.state), "validation");
  const metric = experiment.searcherMetric;
  const chart = useMemo(
    () => charts(points(reports.list).filter(({ name }) => name === metric), metric)[0],
    [reports.list, metric],
  );
  const index = space.dimensions.findIndex(({ name }) => name === by);
  const dimension = space.dimensions[index];
  const colours = useMemo(() => {
    const ranks = quality(space.points.map((point) => point.metric), smaller);
    return new Map(
      space.points.map((point, i) => {
        const value = point.values[index];
        if (dimension === undefined) return [point.trialId, colourOf(ranks[i] ?? 1)];
        return [point.trialId, value === undefined ? "#888888" : colourOf(fraction(dimension, value))];
      }),
    );
  }, [space, dimension, index, smaller]);
  const colour = (series: Series) => colours.get(series.trialId) ?? "#888888";
  return (
    <Panel
      title="Learning curves"
      tools={
        <>
          <Choice
            label="Color by"
            value={dimension?.name ?? ""}
            options={[["", `${metric} (rank)`], ...space.dimensions.map(({ name }) => [name, name] as const)]}
            onChange={setBy}
          />
          <label className="check">
            <input type="checkbox" checked={log !== ""} onChange={(event) => setLog(event.target.checked ? "1" : "")} /> Log scale
          </label>
        </>
      }
    >
      <Problem text={reports.error?.message ?? ""} />
      {chart !== undefined && <Chart chart={chart} log={log !== ""} colour={colour} plain />}
      <p className="row quiet legend">
        {dimension === undefined ? (
          <>
            <Swatch colour={colourOf(0)} /> best <Swatch colour={colourOf(1)} /> worst
          </>
        ) : (
          ticks(dimension).map(({ text, whole, part }) => (
            <span key={part} title={whole}>
              <Swatch colour={colourOf(part)} /> {text}
            </span>
          ))
        )}
        {space.points.length > trialsMax && <span>Showing the best {trialsMax} of {space.points.length} trials.</span>}
      </p>
    </Panel>
  );
}

function Swatch({ colour }: { colour: string }) {
  return (
    <svg width="10" height="10" aria-hidden="true">
      <rect width="10" height="10" rx="2" fill={colour} />
    </svg>
  );
}
