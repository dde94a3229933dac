import { expect, test } from "vitest";
import type { MetricReport } from "../../api/types";
import { batchesOf, parseRange, rangeText, withDetail } from "./zoom";

const report = (trialId: number, totalBatches: number, endTime = `2026-01-01T00:00:${String(totalBatches % 60).padStart(2, "0")}Z`): MetricReport => ({
  trialId,
  trialRunId: 1,
  endTime,
  totalBatches,
  group: "training",
  metrics: { avg_metrics: { loss: totalBatches } },
});
const curve = [10, 20, 30, 40, 50].map((batches) => report(1, batches));

test.each([
  ["1000~2500.5", { from: 1000, to: 2500.5 }],
  ["-1e3~0", { from: -1000, to: 0 }],
  ["5~5", undefined],
  ["9~5", undefined],
  ["5", undefined],
  ["~5", undefined],
  ["a~b", undefined],
  ["1~2~3", undefined],
  ["", undefined],
])("the address's %j is a range or none", (text, range) => {
  expect(parseRange(text)).toEqual(range);
  if (range !== undefined) expect(parseRange(rangeText(range))).toEqual(range);
});

test("a range takes in the report before it and the one after it", () => {
  expect(batchesOf({ from: 22, to: 38 }, curve, "batches", new Map(), 5)).toEqual({ start: 20, end: 40 });
  expect(batchesOf({ from: 20, to: 30 }, curve, "batches", new Map(), 5)).toEqual({ start: 20, end: 30 });
});

test("beyond the last report there is nothing to ask for", () => {
  expect(batchesOf({ from: 42, to: 400 }, curve, "batches", new Map(), 5)).toEqual({ start: 40, end: 50 });
  expect(batchesOf({ from: 60, to: 400 }, curve, "batches", new Map(), 5)).toBeUndefined();
});

test("a short curve is here already", () => {
  expect(batchesOf({ from: 22, to: 38 }, curve, "batches", new Map(), 6)).toBeUndefined();
});

test("over time the batches of each trial count", () => {
  const scales = new Map([
    [1, { startTime: "2026-01-01T00:00:00Z" }],
    [2, { startTime: "2026-01-01T00:00:00Z" }],
  ]);
  const slower = [1000, 2000].map((batches, i) => report(2, batches, `2026-01-01T00:00:${20 + 20 * i}Z`));
  expect(batchesOf({ from: 22, to: 38 }, [...curve, ...slower], "time", scales, 5)).toEqual({ start: 20, end: 2000 });
});

test("the detail takes the place of what was there", () => {
  const list = [report(1, 20), report(1, 25), report(1, 30)];
  expect(withDetail(curve, { start: 20, end: 30, list }).map(({ totalBatches }) => totalBatches)).toEqual([10, 40, 50, 20, 25, 30]);
  expect(withDetail(curve, { start: 20, end: 30, list: [] })).toBe(curve);
  expect(withDetail(curve, undefined)).toBe(curve);
});
