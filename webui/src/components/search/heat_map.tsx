import { clipped, widthOf } from "../charts/clip";
import { formatNumber } from "../format";
import { colourOf, quality } from "../charts/hyperparameters";
import { grid } from "./heat_cells";
import type { Picture } from "./picture";

/** Names have as much room as they need, up to this: rows, and columns. */
const [rowMax, columnMax] = [200, 130];

/** The best metric in each cell of two hyperparameters. */
export function HeatMap({ picture: { space, metric, smaller }, x, y }: { picture: Picture; x: number; y: number }) {
  const { columns, rows, cells } = grid(space, x, y, smaller);
  const colours = quality(cells.map(({ best }) => best), smaller).map(colourOf);
  const names = Math.min(rowMax, Math.max(...rows.map(widthOf), 40));
  const cellWidth = Math.min(columnMax, Math.max(...columns.map(widthOf), 66)) + 10;
  const [left, top, cellHeight] = [names + 10, 6, 30];
  const [width, height] = [left + columns.length * cellWidth + 10, top + rows.length * cellHeight + 24];
  const rowTop = (row: number) => top + (rows.length - 1 - row) * cellHeight;
  return (
    <div className="table">
      <svg className="plot" viewBox={`0 0 ${width} ${height}`} style={{ maxWidth: width }} role="img" aria-label={`${metric} by two hyperparameters`}>
        {rows.map((text, row) => (
          <text key={row} x={left - 6} y={rowTop(row) + cellHeight / 2 + 4} textAnchor="end">
            {clipped(text, names)}
            <title>{text}</title>
          </text>
        ))}
        {columns.map((text, column) => (
          <text key={column} x={left + (column + 0.5) * cellWidth} y={height - 8} textAnchor="middle">
            {clipped(text, cellWidth - 10)}
            <title>{text}</title>
          </text>
        ))}
        {cells.map(({ column, row, trials, best }, index) => (
          <g key={`${column},${row}`}>
            <rect x={left + column * cellWidth + 1} y={rowTop(row) + 1} width={cellWidth - 2} height={cellHeight - 2} rx={3} fill={colours[index]}>
              <title>{`${trials} trials, best ${metric} ${formatNumber(best)}`}</title>
            </rect>
            <text className="inside" x={left + (column + 0.5) * cellWidth} y={rowTop(row) + cellHeight / 2 + 4} textAnchor="middle">
              {formatNumber(Number(best.toPrecision(4)))}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
