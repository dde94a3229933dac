/** What a chart of two metrics of a search is drawn from. Pure. */

import type { ParetoPoint } from "../../../api/types";
import type { Dimension } from "../../../components/charts/hyperparameters";

export interface Axis {
  readonly name: string;
  readonly smaller: boolean;
}

/** `metrics`: "loss:min" or "accuracy:max" each. */
export const axesOf = (metrics: readonly string[]): readonly Axis[] =>
  metrics.map((text) => ({ name: text.replace(/:(min|max)$/, ""), smaller: !text.endsWith(":max") }));

/** Where a metric's values lie; never empty. */
export function extent(points: readonly ParetoPoint[], metric: number): Pick<Dimension, "min" | "max" | "log"> {
  const values = points.map(({ values: all }) => all[metric] ?? 0);
  const [min, max] = [Math.min(...values), Math.max(...values)];
  if (!Number.isFinite(min) || !Number.isFinite(max)) return { min: 0, max: 1, log: false };
  const margin = min < max ? 0 : Math.max(1, Math.abs(min)) / 2;
  return { min: min - margin, max: max + margin, log: false };
}

/** Whether the point can be drawn: NaN and infinity cannot. */
export const isDrawable = ({ values }: ParetoPoint, metrics: readonly number[]): boolean => metrics.every((metric) => Number.isFinite(values[metric]));

/**
 * The corners of the line below which, in two metrics, nothing was reached: from each point of the front across, then up
 * or down to the next. With more than two metrics, only of the points that nothing beats in these two.
 */
export function stairs(front: readonly ParetoPoint[], [x, y]: readonly [number, number], axes: readonly Axis[]): readonly (readonly [number, number])[] {
  const sign = (axis: number) => (axes[axis]?.smaller === false ? -1 : 1);
  const ordered = front
    .map(({ values }) => [values[x] ?? 0, values[y] ?? 0] as const)
    .sort((a, b) => sign(x) * (a[0] - b[0]) || sign(y) * (a[1] - b[1]));
  const corners: (readonly [number, number])[] = [];
  for (const point of ordered) {
    const last = corners.at(-1);
    if (last !== undefined && sign(y) * (last[1] - point[1]) <= 0) continue;
    if (last !== undefined) corners.push([point[0], last[1]]);
    corners.push(point);
  }
  return corners;
}
