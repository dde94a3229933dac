import { useMemo } from "react";
import type { Experiment, Trial } from "../../../api/types";
import { useParameter } from "../../../components/address/route";
import { importances } from "../../../components/charts/importance";
import { Choice, Panel } from "../../../components/parts";
import { HeatMap } from "../../../components/search/heat_map";
import { ImportanceBars } from "../../../components/search/importance_bars";
import { ParallelCoordinates } from "../../../components/search/parallel";
import { isEnough, type Picture, pictureOf } from "../../../components/search/picture";
import { ScatterPlots } from "../../../components/search/scatter";
import { ScatterMatrix } from "../../../components/search/scatter_matrix";
import { Distribution } from "./distribution_plot";
import { LearningCurves } from "./learning_curves";
import { Rungs } from "./overview";
import { hasSeveralMetrics, ParetoFront } from "./pareto";
import { rungs } from "./rungs";

/** How the hyperparameters of a search relate to its metric. */
export function SearchTab({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const { config, searcherMetric } = experiment;
  const key = trials.map(({ id, searcherMetricValue }) => `${id}:${searcherMetricValue ?? ""}`).join();
  // Trials are new objects with every answer; the key says whether anything in them is.
  const picture = useMemo(() => pictureOf(trials, config, searcherMetric), [key, searcherMetric]);
  return (
    <>
      <div className="columns">
        <Rungs rungs={rungs(trials, picture.smaller)} metric={experiment.searcherMetric} />
        <ImportanceBars space={picture.space} />
      </div>
      {hasSeveralMetrics(experiment) && <ParetoFront experiment={experiment} />}
      {isEnough(picture) ? (
        <>
          <ParallelCoordinates picture={picture} />
          <LearningCurves experiment={experiment} trials={trials} space={picture.space} />
          <ScatterPlots picture={picture} />
          <Distribution picture={picture} />
          {picture.space.dimensions.length > 1 && <ScatterMatrix picture={picture} />}
          {picture.space.dimensions.length > 1 && <Heat picture={picture} />}
        </>
      ) : (
        <p className="quiet">Charts appear once two trials with different hyperparameters have reported a validation metric.</p>
      )}
    </>
  );
}

function Heat({ picture }: { picture: Picture }) {
  const names = picture.space.dimensions.map(({ name }) => name);
  const byImportance = importances(picture.space).map(({ name }) => name);
  const order = [...byImportance, ...names.filter((name) => !byImportance.includes(name))];
  const [wantedX, setX] = useParameter("across", order[0] ?? "");
  const [wantedY, setY] = useParameter("up", order[1] ?? "");
  const at = (name: string, otherwise: number) => Math.max(0, names.indexOf(names.includes(name) ? name : (order[otherwise] ?? "")));
  const options = names.map((name) => [name, name] as const);
  const [x, y] = [at(wantedX, 0), at(wantedY, 1)];
  return (
    <Panel
      title={`Heat map of the best ${picture.metric}`}
      tools={
        <>
          <Choice label="X axis" value={names[x] ?? ""} options={options} onChange={setX} />
          <Choice label="Y axis" value={names[y] ?? ""} options={options} onChange={setY} />
        </>
      }
    >
      <HeatMap picture={picture} x={x} y={y} />
    </Panel>
  );
}
