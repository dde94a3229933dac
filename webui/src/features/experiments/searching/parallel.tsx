import { useState } from "react";
import { useWidth } from "../../../components/charts/width";
import { clipped } from "../../../components/charts/clip";
import { formatNumber } from "../../../components/format";
import { type Dimension, fraction, valueAt } from "../../../components/charts/hyperparameters";
import { Panel } from "../../../components/parts";
import { go } from "../../../components/address/route";
import type { Picture } from "./picture";

const height = 280;
const top = 34;
const bottom = height - 26;
const gapMin = 110;
/** What stands beyond the first and the last axis: half of a name, and ticks. */
const margin = 80;

const metricDimension = (metric: string, values: readonly number[]): Dimension => ({
  name: metric,
  kind: "number",
  log: false,
  categories: [],
  min: Math.min(...values),
  max: Math.max(...values),
});

const yOf = (part: number) => bottom - part * (bottom - top);

/** A line for each trial through its hyperparameters to its metric; click one to see the trial. */
export function ParallelCoordinates({ picture }: { picture: Picture }) {
  const { space, colours, metric } = picture;
  const [pointed, setPointed] = useState<number>();
  const axes = [...space.dimensions, metricDimension(metric, space.points.map((point) => point.metric))];
  const [box, room] = useWidth();
  const width = Math.max(room, 2 * margin + (axes.length - 1) * gapMin);
  const gap = (width - 2 * margin) / Math.max(1, axes.length - 1);
  const x = (index: number) => margin + index * gap;
  const last = space.dimensions.length;
  const lines = space.points.map(({ trialId, values, metric: value }, index) => ({
    trialId,
    colour: colours[index] ?? "currentColor",
    // Where a trial lacks a hyperparameter, its line passes by below the axis.
    path: [...values, value]
      .map((v, i) => `${i === 0 ? "M" : "L"}${x(i)} ${v === undefined ? height - 6 : yOf(fraction(axes[i] as Dimension, v)).toFixed(1)}`)
      .join(""),
  }));
  const shown = space.points.find(({ trialId }) => trialId === pointed);
  return (
    <Panel
      title="Parallel coordinates"
      tools={
        <span className="quiet" aria-live="polite">
          {shown
            ? `Trial ${shown.trialId}: ${shown.texts.map((text, i) => `${space.dimensions[i]?.name} ${short(text)}`).join(", ")}, ${metric} ${formatNumber(shown.metric)}`
            : "Blue lines are the best trials"}
        </span>
      }
    >
      <div className="table" ref={box}>
        <svg className="plot parallel" viewBox={`0 0 ${width} ${height}`} width={width} role="img" aria-label={`${space.points.length} trials over ${last} hyperparameters`}>
          {lines.map(({ trialId, colour, path }) => (
            <path
              key={trialId}
              d={path}
              fill="none"
              stroke={colour}
              strokeWidth={trialId === pointed ? 3 : 1.3}
              strokeOpacity={pointed === undefined ? 0.75 : trialId === pointed ? 1 : 0.15}
            />
          ))}
          {lines.map(({ trialId, path }) => (
            <path
              key={trialId}
              className="hit"
              d={path}
              fill="none"
              stroke="transparent"
              strokeWidth={9}
              onMouseEnter={() => setPointed(trialId)}
              onMouseLeave={() => setPointed(undefined)}
              onClick={() => go({ page: "trial", id: trialId, tab: "overview" })}
            />
          ))}
          {axes.map((dimension, index) => (
            <AxisLine
              key={`${index} ${dimension.name}`}
              dimension={dimension}
              x={x(index)}
              room={Math.min(gap, 2 * margin) - 10}
              strong={index === last}
              lacks={index < last && space.points.some(({ values }) => values[index] === undefined)}
            />
          ))}
        </svg>
      </div>
    </Panel>
  );
}

interface AxisProps {
  readonly dimension: Dimension;
  readonly x: number;
  readonly room: number;
  readonly strong: boolean;
  /** Some trials have no value here. */
  readonly lacks: boolean;
}

function AxisLine({ dimension, x, room, strong, lacks }: AxisProps) {
  return (
    <g>
      <line className="axis" x1={x} x2={x} y1={top} y2={bottom} />
      <text x={x} y={14} textAnchor="middle" fontWeight={strong ? 700 : 600}>
        {clipped(dimension.name, room)}
        <title>{dimension.name}</title>
      </text>
      {ticks(dimension).map(({ text, whole, part }) => (
        <text key={part} x={x + 5} y={yOf(part) + 4} className="tick">
          {text}
          <title>{whole}</title>
        </text>
      ))}
      {lacks && (
        <text x={x + 5} y={height - 2} className="tick">
          none
        </text>
      )}
    </g>
  );
}

/** What stands beside an axis: the categories, or five values of a number. */
export function ticks(dimension: Dimension): { text: string; whole: string; part: number }[] {
  if (dimension.kind === "category")
    return dimension.categories.map((whole, index) => ({ text: short(whole), whole, part: fraction(dimension, index) }));
  const parts = dimension.min === dimension.max ? [0.5] : [0, 0.25, 0.5, 0.75, 1];
  return parts.map((part) => {
    const text = formatNumber(Number(valueAt(dimension, part).toPrecision(3)));
    return { text, whole: text, part };
  });
}

/** A hyperparameter's text, numbers with few digits. */
export function short(text: string): string {
  const number = Number(text);
  const brief = text.trim() !== "" && Number.isFinite(number) ? formatNumber(Number(number.toPrecision(4))) : text;
  return brief.length > 18 ? `${brief.slice(0, 17)}…` : brief;
}
