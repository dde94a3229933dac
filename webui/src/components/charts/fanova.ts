/**
 * Functional analysis of variance (fANOVA; Hutter, Hoos and Leyton-Brown,
 * ICML 2014): which part of the metric's variance over the search space each
 * hyperparameter explains alone, averaged over the values of all others.
 *
 * A forest of regression trees is fitted to the trials. A tree divides the
 * space into boxes with a constant value each, so that its mean, its variance
 * and the variances of its marginals are sums over boxes. Pure, and the same
 * for the same trials: the random numbers begin with a fixed seed.
 */

import { type Dimension, fraction, type Space } from "./hyperparameters";
import { type Importance, trialsMin } from "./importance";

const treesDefault = 32;
const depthMax = 64;
/** Of more trials, so many are drawn, so that a page stays quick. */
const trialsMax = 300;

/** A part of the space: of each number an interval within 0 to 1, of each category which of them. */
type Box = readonly Side[];
type Side = readonly [number, number] | readonly boolean[];

interface Leaf {
  readonly box: Box;
  readonly value: number;
}

export interface Sample {
  readonly at: readonly number[];
  readonly metric: number;
}

/** Of a dimension of numbers 0, of a category the number of its values. */
type Sizes = readonly number[];

/** Numbers from 0 to below 1: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Split {
  readonly dimension: number;
  readonly gain: number;
  /** Of a number the threshold, of a category the value that goes to the left. */
  readonly at: number;
}

/** The best split of samples that are ordered by one dimension: between two of them that differ. */
function splitOfNumbers(samples: readonly Sample[], dimension: number): Split | undefined {
  const order = [...samples].sort((a, b) => (a.at[dimension] ?? 0) - (b.at[dimension] ?? 0));
  const total = order.reduce((sum, { metric }) => sum + metric, 0);
  let best: Split | undefined;
  let left = 0;
  for (let count = 1; count < order.length; count += 1) {
    const [below, above] = [order[count - 1], order[count]];
    if (below === undefined || above === undefined) continue;
    left += below.metric;
    const [from, to] = [below.at[dimension] ?? 0, above.at[dimension] ?? 0];
    if (from === to) continue;
    const gain = left ** 2 / count + (total - left) ** 2 / (order.length - count);
    if (best === undefined || gain > best.gain) best = { dimension, gain, at: (from + to) / 2 };
  }
  return best;
}

/** The best split of one value of a category from all others. */
function splitOfCategory(samples: readonly Sample[], dimension: number, size: number): Split | undefined {
  const [counts, sums] = [new Array<number>(size).fill(0), new Array<number>(size).fill(0)];
  for (const { at, metric } of samples) {
    const value = at[dimension] ?? 0;
    counts[value] = (counts[value] ?? 0) + 1;
    sums[value] = (sums[value] ?? 0) + metric;
  }
  const total = sums.reduce((a, b) => a + b, 0);
  let best: Split | undefined;
  counts.forEach((count, value) => {
    if (count === 0 || count === samples.length) return;
    const sum = sums[value] ?? 0;
    const gain = sum ** 2 / count + (total - sum) ** 2 / (samples.length - count);
    if (best === undefined || gain > best.gain) best = { dimension, gain, at: value };
  });
  return best;
}

function grow(samples: readonly Sample[], box: Box, sizes: Sizes, depth: number, leaves: Leaf[]): void {
  const value = samples.reduce((sum, { metric }) => sum + metric, 0) / samples.length;
  let best: Split | undefined;
  if (depth < depthMax && samples.some(({ metric }) => metric !== samples[0]?.metric)) {
    for (const [dimension, size] of sizes.entries()) {
      const split = size === 0 ? splitOfNumbers(samples, dimension) : splitOfCategory(samples, dimension, size);
      if (split !== undefined && (best === undefined || split.gain > best.gain)) best = split;
    }
  }
  if (best === undefined) {
    leaves.push({ box, value });
    return;
  }
  const { dimension, at } = best;
  const isNumber = sizes[dimension] === 0;
  const goesLeft = (sample: Sample) => (isNumber ? (sample.at[dimension] ?? 0) <= at : sample.at[dimension] === at);
  for (const left of [true, false]) {
    const part = box.map((side, index) => (index === dimension ? cut(side, at, left) : side));
    grow(samples.filter((sample) => goesLeft(sample) === left), part, sizes, depth + 1, leaves);
  }
}

function cut(side: Side, at: number, left: boolean): Side {
  if (!isInterval(side)) return side.map((inside, value) => inside && (value === at) === left);
  return left ? [side[0], at] : [at, side[1]];
}

const isInterval = (side: Side): side is readonly [number, number] => typeof side[0] === "number";

/** Which part of a dimension a side of a box takes. */
const widthOf = (side: Side) => (isInterval(side) ? side[1] - side[0] : side.filter(Boolean).length / side.length);

/** The cells of a dimension, in which no leaf begins or ends. */
interface Cells {
  readonly widths: readonly number[];
  /** The indices of the cells that a leaf covers. */
  readonly covers: (leaf: number) => readonly number[];
}

function cellsOf(leaves: readonly Leaf[], dimension: number): Cells {
  const sides = leaves.map(({ box }): Side => box[dimension] ?? [0, 1]);
  const first: Side = sides[0] ?? [0, 1];
  if (!isInterval(first)) {
    const indices = sides.map((side) => side.flatMap((inside, value) => (inside === true ? [value] : [])));
    return { widths: first.map(() => 1 / first.length), covers: (leaf) => indices[leaf] ?? [] };
  }
  const borders = [...new Set(sides.flatMap((side) => (isInterval(side) ? [side[0], side[1]] : [])))].sort((a, b) => a - b);
  const place = new Map(borders.map((border, index) => [border, index]));
  const indices = sides.map((side) => {
    const [from, to] = isInterval(side) ? [place.get(side[0]) ?? 0, place.get(side[1]) ?? 0] : [0, 0];
    return Array.from({ length: to - from }, (_, offset) => from + offset);
  });
  return { widths: borders.slice(1).map((border, index) => border - (borders[index] ?? 0)), covers: (leaf) => indices[leaf] ?? [] };
}

/** Of one tree: the parts of its variance that each dimension explains alone; undefined where it is constant. */
function partsOfTree(leaves: readonly Leaf[], dimensions: number): number[] | undefined {
  const widths = leaves.map(({ box }) => box.map(widthOf));
  const volumes = widths.map((of) => of.reduce((a, b) => a * b, 1));
  const mean = leaves.reduce((sum, { value }, index) => sum + value * (volumes[index] ?? 0), 0);
  const variance = leaves.reduce((sum, { value }, index) => sum + (volumes[index] ?? 0) * (value - mean) ** 2, 0);
  if (variance <= 0) return undefined;
  return Array.from({ length: dimensions }, (_, dimension) => {
    const cells = cellsOf(leaves, dimension);
    const marginal = new Array<number>(cells.widths.length).fill(0);
    leaves.forEach(({ value }, leaf) => {
      const others = (volumes[leaf] ?? 0) / (widths[leaf]?.[dimension] || 1);
      for (const cell of cells.covers(leaf)) marginal[cell] = (marginal[cell] ?? 0) + value * others;
    });
    return marginal.reduce((sum, value, cell) => sum + (cells.widths[cell] ?? 0) * (value - mean) ** 2, 0) / variance;
  });
}

/** The part of the variance that each dimension explains alone, from 0 to 1, in the mean over the trees. */
export function partsOfVariance(samples: readonly Sample[], sizes: Sizes, trees = treesDefault): number[] {
  const random = randomFrom(1);
  const whole: Box = sizes.map((size) => (size === 0 ? ([0, 1] as const) : new Array<boolean>(size).fill(true)));
  const sums = sizes.map(() => 0);
  let counted = 0;
  for (let tree = 0; tree < trees; tree += 1) {
    const drawn = samples.flatMap(() => samples[Math.floor(random() * samples.length)] ?? []);
    const leaves: Leaf[] = [];
    grow(drawn, whole, sizes, 0, leaves);
    const parts = partsOfTree(leaves, sizes.length);
    if (parts === undefined) continue;
    counted += 1;
    parts.forEach((part, dimension) => {
      sums[dimension] = (sums[dimension] ?? 0) + part;
    });
  }
  return sums.map((sum) => (counted === 0 ? 0 : sum / counted));
}

export interface Fanova {
  /** The most important first. */
  readonly alone: readonly Importance[];
  /** What is explained only by values of several hyperparameters together. */
  readonly together: number;
  /** Hyperparameters that some trials do not have; they are left out. */
  readonly partial: readonly string[];
}

/** Empty for too few trials. */
export function fanova({ dimensions, points }: Space): Fanova {
  const complete = dimensions.flatMap((dimension, index) => (points.every(({ values }) => values[index] !== undefined) ? [{ dimension, index }] : []));
  const partial = dimensions.filter((dimension) => !complete.some((one) => one.dimension === dimension)).map(({ name }) => name);
  if (points.length < trialsMin || complete.length === 0) return { alone: [], together: 0, partial };
  const place = (dimension: Dimension, value: number) => (dimension.kind === "category" ? value : fraction(dimension, value));
  const samples = spread(points, trialsMax).map(({ values, metric }) => ({
    at: complete.map(({ dimension, index }) => place(dimension, values[index] ?? 0)),
    metric,
  }));
  const parts = partsOfVariance(
    samples,
    complete.map(({ dimension }) => (dimension.kind === "category" ? dimension.categories.length : 0)),
  );
  const alone = complete
    .map(({ dimension }, index) => ({ name: dimension.name, value: Math.min(1, parts[index] ?? 0) }))
    .sort((a, b) => b.value - a.value || a.name.localeCompare(b.name));
  const varies = alone.some(({ value }) => value > 0);
  return { alone, together: varies ? Math.max(0, 1 - alone.reduce((sum, { value }) => sum + value, 0)) : 0, partial };
}

/** At most so many of a list, evenly. */
function spread<T>(list: readonly T[], most: number): readonly T[] {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, index) => list[Math.floor((index * list.length) / most)]).flatMap((item) => (item === undefined ? [] : [item]));
}
