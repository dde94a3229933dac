import { palette, restColour } from "../../components/charts/palette";
import { useWidth } from "../../components/charts/width";
import { type Layer, largest, roundUp } from "./history";

const height = 240;
const margin = { left: 52, right: 8, top: 10, bottom: 22 };
const labelWidth = 74;

interface HistoryChartProps {
  readonly layers: readonly Layer[];
  readonly periods: readonly string[];
  /** What is drawn: "slot-hours". */
  readonly title: string;
  /** A value as the axis has it, and as a sentence has it. */
  readonly format: (value: number) => string;
  readonly inWords: (value: number) => string;
}

/** The colour of a group by its rank. */
export function colourOf(rank: number): string {
  return palette[rank] ?? restColour;
}

/** Usage as bars: one a day or month, in it the groups on top of each other. */
export function HistoryChart({ layers: all, periods, title, format, inWords }: HistoryChartProps) {
  const [box, width] = useWidth();
  const { shown, rest } = largest(all, palette.length);
  const layers = rest === undefined ? shown : [...shown, rest];
  const sums = periods.map((_, i) => layers.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
  const top = roundUp(Math.max(0, ...sums));
  const [w, h] = [Math.max(0, width - margin.left - margin.right), height - margin.top - margin.bottom];
  const step = w / Math.max(1, periods.length);
  const bar = Math.max(1, Math.min(40, step * 0.8));
  const y = (value: number) => margin.top + h * (1 - value / top);
  const every = Math.max(1, Math.ceil(labelWidth / Math.max(1, step)));
  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      <div ref={box}>
        <svg
          className="plot"
          style={{ height }}
          viewBox={`0 0 ${Math.max(1, width)} ${height}`}
          role="img"
          aria-label={`${title} from ${periods[0] ?? ""} to ${periods.at(-1) ?? ""}, at most ${inWords(Math.max(0, ...sums))}; the table below has the numbers`}
        >
          {[0, 0.5, 1].map((part) => (
            <g key={part}>
              <line className="grid" x1={margin.left} x2={margin.left + w} y1={y(part * top)} y2={y(part * top)} />
              <text x={margin.left - 6} y={y(part * top) + 4} textAnchor="end">
                {format(part * top)}
              </text>
            </g>
          ))}
          {periods.map((date, i) => {
            let below = 0;
            const left = margin.left + i * step + (step - bar) / 2;
            return (
              <g key={date}>
                {layers.map(({ name, values }, rank) => {
                  const own = values[i] ?? 0;
                  if (own <= 0) return null;
                  const from = below;
                  below += own;
                  return (
                    <rect key={name} x={left} width={bar} y={y(below)} height={y(from) - y(below)} fill={rank < shown.length ? colourOf(rank) : restColour}>
                      <title>{`${date}, ${name || "(none)"}: ${inWords(own)}`}</title>
                    </rect>
                  );
                })}
                {i % every === 0 && (
                  <text x={margin.left + (i + 0.5) * step} y={height - 6} textAnchor="middle">
                    {date}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      </div>
      <ul className="legend" aria-hidden="true">
        {layers.map(({ name }, rank) => (
          <li key={name}>
            <i style={{ background: rank < shown.length ? colourOf(rank) : restColour }} /> {name || "(none)"}
          </li>
        ))}
      </ul>
    </figure>
  );
}
