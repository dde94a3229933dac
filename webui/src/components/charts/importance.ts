/**
 * How much of the differences between trials one hyperparameter explains.
 *
 * The statistic is the adjusted correlation ratio (epsilon squared) of the
 * metric's ranks: trials are put into groups by the hyperparameter (a
 * category each; numbers in up to five groups of equal size), and the
 * variance of the ranks between the groups is compared with all variance:
 *
 *   (SS_between − (groups − 1) · MS_within) / SS_total, at least 0
 *
 * Ranks, so that one diverged trial does not decide; groups instead of a
 * line, so that "best in the middle" counts; adjusted, so that chance alone
 * gives 0 on average. It looks at one hyperparameter at a time: what only two
 * of them do together is not seen. 0: explains nothing; 1: explains all.
 */

import type { Point, Space } from "./hyperparameters";

export interface Importance {
  readonly name: string;
  readonly value: number;
}

export const trialsMin = 6;
const groupsMax = 5;

/** Ranks from 0, ties share their middle rank. */
export function ranks(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index })).sort((a, b) => a.value - b.value);
  const result = new Array<number>(values.length).fill(0);
  for (let begin = 0; begin < order.length; ) {
    let end = begin;
    while (end < order.length && order[end]?.value === order[begin]?.value) end += 1;
    for (let i = begin; i < end; i += 1) result[order[i]?.index ?? 0] = (begin + end - 1) / 2;
    begin = end;
  }
  return result;
}

/** Puts each value into a group: equal values into one, all groups about equally large. */
export function groups(values: readonly number[], most: number): number[] {
  const wanted = Math.min(most, Math.floor(values.length / 2), new Set(values).size);
  if (wanted < 2) return values.map(() => 0);
  return ranks(values).map((rank) => Math.min(wanted - 1, Math.floor(((rank + 0.5) * wanted) / values.length)));
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
const squares = (values: readonly number[], from: number) => values.reduce((sum, v) => sum + (v - from) ** 2, 0);

/** Epsilon squared of `values` over their groups; 0 where there is nothing to explain. */
export function explained(values: readonly number[], group: readonly number[]): number {
  const byGroup = new Map<number, number[]>();
  values.forEach((value, index) => {
    const key = group[index] ?? 0;
    byGroup.set(key, [...(byGroup.get(key) ?? []), value]);
  });
  const total = squares(values, mean(values));
  const [n, k] = [values.length, byGroup.size];
  if (total === 0 || k < 2 || n <= k) return 0;
  const within = [...byGroup.values()].reduce((sum, list) => sum + squares(list, mean(list)), 0);
  return Math.max(0, (total - within - (k - 1) * (within / (n - k))) / total);
}

/** The importance of each hyperparameter, the most important first; empty for too few trials. */
export function importances({ dimensions, points }: Space): Importance[] {
  return dimensions
    .flatMap(({ name, kind }, index) => {
      const known = points.flatMap((point: Point) => {
        const value = point.values[index];
        return value === undefined ? [] : [{ value, metric: point.metric }];
      });
      if (known.length < trialsMin) return [];
      const values = known.map(({ value }) => value);
      const group = kind === "category" ? values : groups(values, groupsMax);
      return [{ name, value: explained(ranks(known.map(({ metric }) => metric)), group) }];
    })
    .sort((a, b) => b.value - a.value || a.name.localeCompare(b.name));
}
