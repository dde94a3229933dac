import { useDeferredValue, useMemo } from "react";
import type { Experiment, Trial } from "../../../api/types";
import { smallerIsBetter } from "../../../components/config";
import { colourOf, quality, type Space, space } from "../../../components/charts/hyperparameters";
import { fanova } from "../../../components/charts/fanova";
import { importances, trialsMin } from "../../../components/charts/importance";
import { Choice, Panel } from "../../../components/parts";
import { useParameter } from "../../../components/address/route";
import { Distribution } from "./distribution_plot";
import { HeatMap } from "./heat_map";
import { LearningCurves } from "./learning_curves";
import { Rungs } from "./overview";
import { ParallelCoordinates } from "./parallel";
import { hasSeveralMetrics, ParetoFront } from "./pareto";
import type { Picture } from "./picture";
import { rungs } from "./rungs";
import { ScatterPlots } from "./scatter";

/** How the hyperparameters of a search relate to its metric. */
export function SearchTab({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const smaller = smallerIsBetter(experiment.config);
  const key = trials.map(({ id, searcherMetricValue }) => `${id}:${searcherMetricValue ?? ""}`).join();
  const picture = useMemo((): Picture => {
    const made = space(trials, experiment.config);
    const metrics = made.points.map(({ metric }) => metric);
    return { space: made, metric: experiment.searcherMetric, smaller, colours: quality(metrics, smaller).map(colourOf) };
    // Trials are new objects with every answer; the key says whether anything in them is.
  }, [key, smaller, experiment.searcherMetric]);
  const enough = picture.space.points.length > 1 && picture.space.dimensions.length > 0;
  return (
    <>
      <div className="columns">
        <Rungs rungs={rungs(trials, smaller)} metric={experiment.searcherMetric} />
        <ImportanceBars space={picture.space} />
      </div>
      {hasSeveralMetrics(experiment) && <ParetoFront experiment={experiment} />}
      {enough ? (
        <>
          <ParallelCoordinates picture={picture} />
          <LearningCurves experiment={experiment} trials={trials} space={picture.space} />
          <ScatterPlots picture={picture} />
          <Distribution picture={picture} />
          {picture.space.dimensions.length > 1 && <Heat picture={picture} />}
        </>
      ) : (
        <p className="quiet">Charts appear once two trials with different hyperparameters have reported a validation metric.</p>
      )}
    </>
  );
}

const measures = [
  ["", "fANOVA"],
  ["ranks", "By ranks"],
] as const;

function ImportanceBars({ space: made }: { space: Space }) {
  const [measure, setMeasure] = useParameter("importance");
  const later = useDeferredValue(made);
  const variances = useMemo(() => (measure === "" ? fanova(later) : undefined), [measure, later]);
  const list = variances?.alone ?? importances(made);
  return (
    <Panel title="Importance of hyperparameters" tools={<Choice label="Measure" value={measure} options={measures} onChange={setMeasure} />}>
      {list.length === 0 && <p className="quiet">Shown once {trialsMin} trials have reported a validation metric.</p>}
      {list.map((one) => (
        <Bar key={one.name} {...one} label={`Importance of ${one.name}`} />
      ))}
      {variances !== undefined && variances.alone.length > 1 && <Bar name="several together" value={variances.together} label="Importance of several together" />}
      {list.length > 0 &&
        (variances === undefined ? (
          <p className="quiet" title="Adjusted correlation ratio of the metric's ranks, one hyperparameter at a time">
            The share of the differences in rank that each explains by itself; chance gives 0.
          </p>
        ) : (
          <p className="quiet" title="Functional analysis of variance with a forest of regression trees, as in Optuna">
            The share of the metric's variance over the search space.
            {variances.partial.length > 0 && ` Not every trial has ${variances.partial.join(", ")}.`}
          </p>
        ))}
    </Panel>
  );
}

function Bar({ name, value, label }: { name: string; value: number; label: string }) {
  return (
    <div className="bar-row">
      <span className="ellipsis" title={name}>
        {name}
      </span>
      <progress className="bar" max={1} value={value} aria-label={label} />
      <span className="number">{Math.round(value * 100)} %</span>
    </div>
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
