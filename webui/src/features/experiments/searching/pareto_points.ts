/** What a chart of two metrics of a search is drawn from. Pure. */

export interface ParetoReply {
  /** "loss:min" or "accuracy:max" each. */
  readonly metrics: readonly string[];
  readonly front: readonly ParetoPoint[];
  readonly dominated: readonly ParetoPoint[];
}

export interface ParetoPoint {
  readonly trialId: number;
  readonly batches: number | string;
  readonly values: readonly number[];
}

export interface Axis {
  readonly name: string;
  readonly larger: boolean;
}

export const axesOf = (metrics: readonly string[]): readonly Axis[] =>
  metrics.map((text) => ({ name: text.replace(/:(min|max)$/, ""), larger: text.endsWith(":max") }));

export interface Extent {
  readonly min: number;
  readonly max: number;
}

/** Where a metric's values lie; never empty. */
export function extent(points: readonly ParetoPoint[], metric: number): Extent {
  const values = points.map(({ values: all }) => all[metric] ?? 0);
  const [min, max] = [Math.min(...values), Math.max(...values)];
  if (!Number.isFinite(min) || !Number.isFinite(max)) return { min: 0, max: 1 };
  return min < max ? { min, max } : { min: min - Math.max(1, Math.abs(min)) / 2, max: max + Math.max(1, Math.abs(max)) / 2 };
}

/**
 * The corners of the line below which, in two metrics, nothing was reached: from each point of the front across, then up
 * or down to the next. With more than two metrics, only of the points that nothing beats in these two.
 */
export function stairs(front: readonly ParetoPoint[], [x, y]: readonly [number, number], axes: readonly Axis[]): readonly (readonly [number, number])[] {
  const sign = (axis: number) => (axes[axis]?.larger ? -1 : 1);
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
