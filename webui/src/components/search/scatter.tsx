import { clipped, every, widthOf } from "../charts/clip";
import { formatNumber } from "../format";
import { fraction } from "../charts/hyperparameters";
import { Panel } from "../parts";
import { go } from "../address/route";
import { short, ticks } from "./parallel";
import type { Picture } from "./picture";

const [width, height, right, top, bottom] = [260, 170, 250, 10, 140] as const;
/** Shorter names of categories than this say nothing. */
const nameMin = 32;

/** Texts at the ends of an axis stay within the picture. */
const anchor = (part: number) => (part < 0.1 ? "start" : part > 0.9 ? "end" : "middle");

/** The metric by hyperparameter, a dot for each trial. */
export function ScatterPlots({ picture }: { picture: Picture }) {
  return (
    <Panel title={`${picture.metric} by hyperparameter`}>
      <div className="small-plots">
        {picture.space.dimensions.map(({ name }, index) => (
          <Scatter key={name} picture={picture} index={index} />
        ))}
      </div>
    </Panel>
  );
}

function Scatter({ picture: { space, metric, colours }, index }: { picture: Picture; index: number }) {
  const dimension = space.dimensions[index];
  if (dimension === undefined) return null;
  const metrics = space.points.map((point) => point.metric);
  const range = { min: Math.min(...metrics), max: Math.max(...metrics), log: false };
  const ends = [range.min, range.max].map((value) => ({ value, text: formatNumber(Number(value.toPrecision(3))) }));
  const left = 10 + Math.max(...ends.map(({ text }) => widthOf(text)));
  const y = (value: number) => bottom - fraction(range, value) * (bottom - top);
  const marks = ticks(dimension);
  const named = dimension.kind === "category";
  // Each category has a part of the axis, and its name in the middle below.
  const room = (right - left) / marks.length;
  const x = (value: number) => (named ? left + (value + 0.5) * room : left + 8 + fraction(dimension, value) * (right - left - 16));
  const step = named ? every(room, nameMin) : 2;
  const shownMarks = marks.map((mark, i) => ({ ...mark, at: named ? x(i) : left + 8 + mark.part * (right - left - 16) })).filter((_, i) => i % step === 0);
  return (
    <figure className="chart">
      <figcaption>{dimension.name}</figcaption>
      <svg className="plot" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${metric} over ${dimension.name}`}>
        <line className="axis" x1={left} x2={left} y1={top} y2={bottom} />
        <line className="axis" x1={left} x2={right} y1={bottom} y2={bottom} />
        {ends.map(({ value, text }, i) => (
          <text key={i} x={left - 4} y={y(value) + 4} textAnchor="end">
            {text}
          </text>
        ))}
        {shownMarks.map(({ text, whole, part, at }) => (
          <text key={part} x={at} y={bottom + 15} textAnchor={named ? "middle" : anchor(part)}>
            {named ? clipped(text, Math.min(room * step - 4, 2 * (width - at))) : text}
            <title>{whole}</title>
          </text>
        ))}
        {space.points.map(({ trialId, values, texts, metric: value }, i) => {
          const at = values[index];
          return at === undefined ? null : (
            <circle
              key={trialId}
              cx={x(at)}
              cy={y(value)}
              r={3.5}
              fill={colours[i]}
              className="dot"
              onClick={() => go({ page: "trial", id: trialId, tab: "overview" })}
            >
              <title>{`Trial ${trialId}: ${dimension.name} ${short(texts[index] ?? "")}, ${metric} ${formatNumber(value)}`}</title>
            </circle>
          );
        })}
      </svg>
    </figure>
  );
}
