import { go } from "../address/route";
import { clipped } from "../charts/clip";
import { type Dimension, fraction } from "../charts/hyperparameters";
import { importances } from "../charts/importance";
import { formatNumber } from "../format";
import { Panel } from "../parts";
import { short } from "./parallel";
import type { Picture } from "./picture";

/** More would be too small to see anything in: the most important ones are shown. */
const dimensionsMax = 6;
const [cell, gap, side, bottom, inset] = [140, 8, 120, 20, 8] as const;

/** Every two hyperparameters, a dot for each trial in the colour of its result. */
export function ScatterMatrix({ picture }: { picture: Picture }) {
  const { space, metric, colours } = picture;
  const shown = chosen(picture);
  const [across, up] = [shown.slice(0, -1), shown.slice(1)];
  const pitch = cell + gap;
  const [width, height] = [side + across.length * pitch, up.length * pitch + bottom];
  const dimension = (index: number) => space.dimensions[index] as Dimension;
  // The best lie on top.
  const order = space.points.map((_, index) => index).sort((a, b) => (picture.smaller ? 1 : -1) * ((space.points[b]?.metric ?? 0) - (space.points[a]?.metric ?? 0)));
  return (
    <Panel title="Scatter matrix" tools={space.dimensions.length > shown.length && <span className="quiet">The {shown.length} most important hyperparameters</span>}>
      <div className="table">
        <svg className="plot" viewBox={`0 0 ${width} ${height}`} style={{ maxWidth: width }} role="img" aria-label={`${metric} of ${space.points.length} trials over every two of ${shown.length} hyperparameters`}>
          {up.map((row, i) => (
            <text key={row} x={side - 6} y={i * pitch + cell / 2 + 4} textAnchor="end">
              {clipped(dimension(row).name, side - 10)}
              <title>{dimension(row).name}</title>
            </text>
          ))}
          {across.map((column, j) => (
            <text key={column} x={side + j * pitch + cell / 2} y={height - 6} textAnchor="middle">
              {clipped(dimension(column).name, cell)}
              <title>{dimension(column).name}</title>
            </text>
          ))}
          {up.flatMap((row, i) =>
            across.slice(0, i + 1).map((column, j) => (
              <g key={`${row} ${column}`} transform={`translate(${side + j * pitch} ${i * pitch})`}>
                <rect className="cell" width={cell} height={cell} rx={3} />
                {order.map((index) => {
                  const { trialId, values, texts, metric: value } = space.points[index] as (typeof space.points)[number];
                  const [x, y] = [values[column], values[row]];
                  if (x === undefined || y === undefined) return null;
                  const place = (of: number, at: number) => inset + fraction(dimension(of), at) * (cell - 2 * inset);
                  return (
                    <circle
                      key={trialId}
                      cx={place(column, x)}
                      cy={cell - place(row, y)}
                      r={2.5}
                      fill={colours[index]}
                      className="dot"
                      onClick={() => go({ page: "trial", id: trialId, tab: "overview" })}
                    >
                      <title>{`Trial ${trialId}: ${dimension(column).name} ${short(texts[column] ?? "")}, ${dimension(row).name} ${short(texts[row] ?? "")}, ${metric} ${formatNumber(value)}`}</title>
                    </circle>
                  );
                })}
              </g>
            )),
          )}
        </svg>
      </div>
    </Panel>
  );
}

/** The dimensions that are shown, by index: all, or the most important ones, in the order of the others. */
function chosen({ space }: Picture): readonly number[] {
  const all = space.dimensions.map((_, index) => index);
  if (all.length <= dimensionsMax) return all;
  const byImportance = importances(space).map(({ name }) => space.dimensions.findIndex((one) => one.name === name));
  return [...new Set([...byImportance, ...all])].slice(0, dimensionsMax).sort((a, b) => a - b);
}
