import { type PointerEvent, useState } from "react";
import { useWidth } from "../charts/width";
import { clipped } from "../charts/clip";
import { formatNumber } from "../format";
import { type Dimension, fraction, valueAt } from "../charts/hyperparameters";
import { Panel } from "../parts";
import { go, useParameter } from "../address/route";
import { type Brush, brushOf, type Brushes, brushText, isWithin, parseBrushes } from "./brush";
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

const partOf = (y: number) => (bottom - y) / (bottom - top);

/** A line for each trial through its hyperparameters to its metric; click one to see the trial, drag along axes to see some. */
export function ParallelCoordinates({ picture }: { picture: Picture }) {
  const { space, colours, metric } = picture;
  const [pointed, setPointed] = useState<number>();
  const axes = [...space.dimensions, metricDimension(metric, space.points.map((point) => point.metric))];
  const [box, room] = useWidth();
  const width = Math.max(room, 2 * margin + (axes.length - 1) * gapMin);
  const gap = (width - 2 * margin) / Math.max(1, axes.length - 1);
  const x = (index: number) => margin + index * gap;
  const last = space.dimensions.length;
  const [brushing, setBrushing] = useParameter("brush");
  // While the pointer is down; then the address has it. Browsers take few changes of the address a second.
  const [drawn, setDrawn] = useState<readonly [name: string, range: Brush]>();
  const known = parseBrushes(brushing);
  const brushes: Brushes = drawn === undefined ? known : new Map([...known, drawn]);
  const brush = (name: string, range?: Brush) => {
    const rest = [...known].filter(([other]) => other !== name);
    setDrawn(undefined);
    setBrushing(brushText(new Map(range === undefined ? rest : [...rest, [name, range]])));
  };
  const partsOf = (values: readonly (number | undefined)[]) =>
    new Map(axes.map((axis, i) => [axis.name, values[i] === undefined ? undefined : fraction(axis, values[i])]));
  const lines = space.points.map(({ trialId, values, metric: value }, index) => ({
    trialId,
    within: isWithin(brushes, partsOf([...values, value])),
    colour: colours[index] ?? "currentColor",
    // Where a trial lacks a hyperparameter, its line passes by below the axis.
    path: [...values, value]
      .map((v, i) => `${i === 0 ? "M" : "L"}${x(i)} ${v === undefined ? height - 6 : yOf(fraction(axes[i] as Dimension, v)).toFixed(1)}`)
      .join(""),
  }));
  const kept = lines.filter(({ within }) => within);
  const shown = space.points.find(({ trialId }) => trialId === pointed);
  return (
    <Panel
      title="Parallel coordinates"
      tools={
        <>
          {brushes.size > 0 && (
            <button type="button" onClick={() => setBrushing("")}>
              Show all
            </button>
          )}
          <span className="quiet" aria-live="polite">
            {shown
            ? `Trial ${shown.trialId}: ${shown.texts.map((text, i) => `${space.dimensions[i]?.name} ${short(text)}`).join(", ")}, ${metric} ${formatNumber(shown.metric)}`
            : brushes.size > 0 ? `${kept.length} of ${lines.length} trials` : "Blue lines are the best trials. Drag along an axis to select a part"}
          </span>
        </>
      }
    >
      <div className="table" ref={box}>
        <svg className="plot parallel" viewBox={`0 0 ${width} ${height}`} width={width} role="img" aria-label={`${space.points.length} trials over ${last} hyperparameters`}>
          {lines.map(({ trialId, colour, path, within }) => (
            <path
              key={trialId}
              d={path}
              fill="none"
              stroke={colour}
              strokeWidth={trialId === pointed ? 3 : 1.3}
              strokeOpacity={!within ? 0.06 : pointed === undefined ? 0.75 : trialId === pointed ? 1 : 0.15}
            />
          ))}
          {kept.map(({ trialId, path }) => (
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
              brush={brushes.get(dimension.name)}
              onDraw={(range) => setDrawn([dimension.name, range])}
              onBrush={(range) => brush(dimension.name, range)}
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
  readonly brush: Brush | undefined;
  readonly onDraw: (brush: Brush) => void;
  readonly onBrush: (brush?: Brush) => void;
}

const brushWidth = 18;

function AxisLine({ dimension, x, room, strong, lacks, brush, onDraw, onBrush }: AxisProps) {
  const [start, setStart] = useState<number>();
  const at = ({ currentTarget, clientY }: PointerEvent<SVGRectElement>) => partOf(clientY - (currentTarget.ownerSVGElement?.getBoundingClientRect().top ?? 0));
  return (
    <g>
      {brush !== undefined && <rect className="brush" x={x - brushWidth / 2} width={brushWidth} y={yOf(brush.to)} height={Math.max(2, yOf(brush.from) - yOf(brush.to))} rx={3} />}
      <rect
        className="brushed"
        x={x - brushWidth / 2}
        width={brushWidth}
        y={top}
        height={bottom - top}
        fill="transparent"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setStart(at(event));
          onDraw(brushOf(at(event), at(event)));
        }}
        onPointerMove={(event) => start !== undefined && onDraw(brushOf(start, at(event)))}
        onPointerUp={(event) => {
          if (start !== undefined) onBrush(brushOf(start, at(event)));
          setStart(undefined);
        }}
        onDoubleClick={() => onBrush()}
      >
        <title>{`Select a part of ${dimension.name}; double-click to select all`}</title>
      </rect>
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
