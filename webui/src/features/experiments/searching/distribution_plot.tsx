import { withDirection } from "../../../components/config";
import { formatNumber } from "../../../components/format";
import { Panel } from "../../../components/parts";
import { distribution } from "./distribution";
import type { Picture } from "../../../components/search/picture";

const [width, height, left, right, top, bottom] = [640, 220, 46, 626, 12, 176] as const;

/** How many trials reached which result: the empirical distribution function. */
export function Distribution({ picture: { space, metric, smaller } }: { picture: Picture }) {
  const steps = distribution(space.points.map((point) => point.metric), smaller);
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined || first.value === last.value) return null;
  const x = (value: number) => left + ((value - first.value) / (last.value - first.value)) * (right - left);
  const y = (part: number) => bottom - part * (bottom - top);
  const path = steps.map(({ value, part }) => `H${x(value).toFixed(1)}V${y(part).toFixed(1)}`).join("");
  const text = (value: number) => formatNumber(Number(value.toPrecision(3)));
  return (
    <Panel title={`Distribution of ${metric}`}>
      <figure className="chart bare">
        <svg
          className="plot"
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`Of ${space.points.length} trials, the part that reached each ${metric}, from ${text(first.value)} to ${text(last.value)}`}
        >
          <line className="axis" x1={left} x2={left} y1={top} y2={bottom} />
          <line className="axis" x1={left} x2={right} y1={bottom} y2={bottom} />
          {[0, 0.5, 1].map((part) => (
            <text key={part} x={left - 5} y={y(part) + 4} textAnchor="end">
              {100 * part} %
            </text>
          ))}
          {[first, last].map(({ value }, i) => (
            <text key={value} x={i === 0 ? left : right} y={bottom + 16} textAnchor={i === 0 ? "start" : "end"}>
              {text(value)}
            </text>
          ))}
          <text x={(left + right) / 2} y={bottom + 36} textAnchor="middle">
            {withDirection(metric, smaller)}, best on the left
          </text>
          <path className="front" d={`M${left} ${y(0)}${path}`} />
        </svg>
      </figure>
      <p className="quiet">The part of the trials that reached a result at least as good.</p>
    </Panel>
  );
}
