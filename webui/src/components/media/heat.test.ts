import { expect, test } from "vitest";
import { heatOf } from "./heat";

test("histograms of other buckets are put over the same rows", () => {
  const heat = heatOf([{ edges: [0, 1, 2], counts: [3, 1] }, { edges: [0, 4], counts: [8] }], 4);
  expect([heat.least, heat.most]).toEqual([0, 4]);
  const dense = heat.columns.map((column) => column.map((part) => Number(part.toFixed(3))));
  expect(dense).toEqual([
    [1, 0.333, 0, 0],
    [0.333, 0.333, 0.333, 0.333],
  ]);
});

test("a single value is a row", () => {
  const heat = heatOf([{ edges: [5, 5], counts: [7] }], 3);
  expect(heat.columns).toEqual([[0, 0, 1]]);
});

test("no bucket at all is an empty column", () => {
  expect(heatOf([{ edges: [0, 1], counts: [1] }, { edges: [], counts: [] }], 2).columns).toEqual([[1, 1], [0, 0]]);
});

test("histograms of any number of buckets are drawn", () => {
  const many = { edges: Array.from({ length: 200_001 }, (_, at) => at), counts: Array<number>(200_000).fill(1) };
  expect(heatOf([many, many], 2)).toMatchObject({ least: 0, most: 200_000 });
});
