import { useDeferredValue, useMemo } from "react";
import { useParameter } from "../address/route";
import { fanova } from "../charts/fanova";
import type { Space } from "../charts/hyperparameters";
import { importances, trialsMin } from "../charts/importance";
import { Choice, Panel } from "../parts";

const measures = [
  ["", "fANOVA"],
  ["ranks", "By ranks"],
] as const;

/** How much of the differences between trials each hyperparameter explains. */
export function ImportanceBars({ space: made }: { space: Space }) {
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
