/** The cells of a heat map: pure. */

import { type Dimension, fraction, type Point, type Space, valueAt } from "../charts/hyperparameters";
import { formatNumber } from "../format";

export interface Cell {
  readonly column: number;
  readonly row: number;
  readonly trials: number;
  readonly best: number;
}

export interface Grid {
  readonly columns: readonly string[];
  readonly rows: readonly string[];
  readonly cells: readonly Cell[];
}

const binsMax = 8;

/** How many cells a dimension is cut into: its values where they are few, else up to eight of equal width. */
function bins(dimension: Dimension, points: readonly Point[], index: number): { labels: string[]; of: (value: number) => number } {
  if (dimension.kind === "category") return { labels: [...dimension.categories], of: (value) => value };
  const values = [...new Set(points.flatMap((point) => point.values[index] ?? []))].sort((a, b) => a - b);
  if (values.length <= binsMax) return { labels: values.map((value) => formatNumber(value)), of: (value) => values.indexOf(value) };
  const labels = Array.from({ length: binsMax }, (_, i) => formatNumber(Number(valueAt(dimension, (i + 0.5) / binsMax).toPrecision(2))));
  return { labels, of: (value) => Math.min(binsMax - 1, Math.floor(fraction(dimension, value) * binsMax)) };
}

/** The best metric of the trials in each cell; trials that lack one of the two are left out. */
export function grid({ dimensions, points }: Space, x: number, y: number, smallerIsBetter: boolean): Grid {
  const [across, up] = [dimensions[x], dimensions[y]];
  if (across === undefined || up === undefined) return { columns: [], rows: [], cells: [] };
  const [columns, rows] = [bins(across, points, x), bins(up, points, y)];
  const cells = new Map<string, Cell>();
  for (const { values, metric } of points) {
    const [vx, vy] = [values[x], values[y]];
    if (vx === undefined || vy === undefined) continue;
    const [column, row] = [columns.of(vx), rows.of(vy)];
    const key = `${column},${row}`;
    const before = cells.get(key);
    const better = before === undefined || (smallerIsBetter ? metric < before.best : metric > before.best);
    cells.set(key, { column, row, trials: (before?.trials ?? 0) + 1, best: better ? metric : before.best });
  }
  return { columns: columns.labels, rows: rows.labels, cells: [...cells.values()] };
}
