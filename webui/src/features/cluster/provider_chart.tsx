import type { PoolSample } from "../../api/types";
import { palette } from "../../components/charts/palette";
import { useWidth } from "../../components/charts/width";
import { nodeSeries, stepPath } from "./provider_history";

const height = 160;
const margin = { left: 36, right: 8, top: 10, bottom: 22 };

/** How many nodes a pool had, and how many it needed. */
export function ProviderChart({ samples, slotsPerNode }: { samples: readonly PoolSample[]; slotsPerNode: number }) {
  const [box, width] = useWidth();
  const series = nodeSeries(samples, slotsPerNode);
  const top = Math.max(1, ...series.flatMap(({ values }) => values));
  const [w, h] = [Math.max(0, width - margin.left - margin.right), height - margin.top - margin.bottom];
  const x = (i: number) => margin.left + (w * i) / Math.max(1, samples.length - 1);
  const y = (nodes: number) => margin.top + h * (1 - nodes / top);
  const clock = (sample: PoolSample | undefined) => (sample === undefined ? "" : new Date(sample.time).toLocaleTimeString());
  return (
    <figure className="chart">
      <figcaption>nodes</figcaption>
      <div ref={box}>
        <svg
          className="plot"
          style={{ height }}
          viewBox={`0 0 ${Math.max(1, width)} ${height}`}
          role="img"
          aria-label={`Nodes from ${clock(samples[0])} to ${clock(samples.at(-1))}: ${series.map(({ name, values }) => `${values.at(-1) ?? 0} ${name}`).join(", ")}`}
        >
          {[0, top].map((nodes) => (
            <g key={nodes}>
              <line className="grid" x1={margin.left} x2={margin.left + w} y1={y(nodes)} y2={y(nodes)} />
              <text x={margin.left - 6} y={y(nodes) + 4} textAnchor="end">
                {nodes}
              </text>
            </g>
          ))}
          {series.map(({ name, values }, i) => (
            <path key={name} d={stepPath(values, x, y)} fill="none" stroke={palette[i]} strokeWidth={2} strokeDasharray={i === 2 ? "4 3" : undefined} />
          ))}
          <text x={margin.left} y={height - 6}>
            {clock(samples[0])}
          </text>
          <text x={margin.left + w} y={height - 6} textAnchor="end">
            {clock(samples.at(-1))}
          </text>
        </svg>
      </div>
      <ul className="legend" aria-hidden="true">
        {series.map(({ name }, i) => (
          <li key={name}>
            <i style={{ background: palette[i] }} /> {name}
          </li>
        ))}
      </ul>
    </figure>
  );
}
