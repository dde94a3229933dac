import type { Histogram } from "../../api/media";

/** Histograms of several steps over common rows. */
export interface Heat {
  /** The values between which the rows are. */
  readonly least: number;
  readonly most: number;
  /** How dense each row is in each column, from 0 to 1, the least values first. */
  readonly columns: readonly (readonly number[])[];
}

/** How much of each histogram is in each of `rows` equal ranges; within a bucket the values are taken as even. */
export function heatOf(histograms: readonly Histogram[], rows: number): Heat {
  const edges = histograms.flatMap((one) => [...one.edges.slice(0, 1), ...one.edges.slice(-1)]);
  const [least, most] = edges.length === 0 ? [0, 0] : [Math.min(...edges), Math.max(...edges)];
  const height = (most - least) / rows;
  const columns = histograms.map((one) => (height > 0 ? densities(one, least, height, rows) : [...Array<number>(rows - 1).fill(0), 1]));
  const peak = Math.max(...columns.flat(), Number.MIN_VALUE);
  return { least, most, columns: columns.map((column) => column.map((part) => part / peak)) };
}

function densities({ edges, counts }: Histogram, least: number, height: number, rows: number): number[] {
  const column = Array<number>(rows).fill(0);
  const all = counts.reduce((sum, count) => sum + count, 0) || 1;
  counts.forEach((count, bucket) => {
    const [from = 0, to = 0] = [edges[bucket], edges[bucket + 1]];
    const first = Math.min(rows - 1, Math.floor((from - least) / height));
    const last = Math.min(rows - 1, Math.max(first, Math.ceil((to - least) / height) - 1));
    for (let row = first; row <= last; row++) {
      const [low, high] = [Math.max(from, least + row * height), Math.min(to, least + (row + 1) * height)];
      const part = to > from ? Math.max(0, high - low) / (to - from) : 1 / (last - first + 1);
      column[row] = (column[row] ?? 0) + (count / all) * part;
    }
  });
  return column;
}
