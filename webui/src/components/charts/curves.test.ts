import { expect, test } from "vitest";
import type { MetricReport } from "../../api/types";
import { type Axis, charts, countedRecords, placeOf, points, position, possibleAxes, scaleOf } from "./curves";

const report = (trialId: number, group: string, totalBatches: number, values: Record<string, unknown>): MetricReport => ({
  trialId,
  trialRunId: 1,
  endTime: "2026-01-01T00:00:10Z",
  totalBatches,
  group,
  metrics: group === "validation" ? { validation_metrics: values } : { avg_metrics: values },
});

test("numbers become points, text and nested values do not", () => {
  const made = points([report(1, "training", 100, { loss: 0.5, note: "x", deep: { a: 1 } }), report(1, "validation", 100, { loss: "NaN" })]);
  expect(made).toEqual([
    { trialId: 1, group: "training", name: "loss", x: 100, value: 0.5 },
    { trialId: 1, group: "validation", name: "loss", x: 100, value: Number.NaN },
  ]);
});

test("there is a chart for each metric, the searcher's first", () => {
  const all = points([report(1, "training", 1, { b: 1, a: 1, z: 1 })]);
  expect(charts(all, "z").map((c) => c.name)).toEqual(["z", "a", "b"]);
});

test("training and validation share a chart, aligned by batches", () => {
  const [loss] = charts(
    points([report(1, "training", 10, { loss: 1 }), report(1, "training", 20, { loss: 0.5 }), report(1, "validation", 20, { loss: 0.7 })]),
    "loss",
  );
  expect(loss?.series.map((s) => s.label)).toEqual(["training", "validation"]);
  expect(loss?.data).toEqual([
    [10, 20],
    [1, 0.5],
    [undefined, 0.7],
  ]);
});

test("the curves of several trials name their trial", () => {
  const [loss] = charts(points([report(2, "validation", 5, { loss: 2 }), report(1, "validation", 3, { loss: 1 })]), "");
  expect(loss?.series.map((s) => [s.label, s.trialId])).toEqual([
    ["trial 1", 1],
    ["trial 2", 2],
  ]);
  const [both] = charts(points([report(2, "validation", 5, { loss: 2 }), report(1, "training", 3, { loss: 1 })]), "");
  expect(both?.series.map((s) => s.label)).toEqual(["trial 1 training", "trial 2 validation"]);
});

test("values that cannot be drawn are gaps and are counted", () => {
  const [loss] = charts(points([report(1, "training", 1, { loss: 1 }), report(1, "training", 2, { loss: "Infinity" })]), "");
  expect(loss?.data).toEqual([
    [1, 2],
    [1, null],
  ]);
  expect(loss?.notFinite).toBe(1);
});

test("no reports, no charts", () => {
  expect(charts([], "loss")).toEqual([]);
});

const scale = { startTime: "2026-01-01T00:00:00Z", batchSize: 64, recordsPerEpoch: 640 };
test.each<[Axis, number]>([
  ["batches", 5],
  ["records", 320],
  ["epochs", 0.5],
  ["time", 10],
])("5 batches after 10 s are at %s %d", (axis, x) => {
  expect(position({ totalBatches: 5, endTime: "2026-01-01T00:00:10Z" }, axis, scale)).toBe(x);
});

test("a trial without a batch size is not on the axis of records", () => {
  expect(position({ totalBatches: 5, endTime: "2026-01-01T00:00:10Z" }, "records", { startTime: "" })).toBeUndefined();
  expect(points([report(1, "training", 5, { loss: 1 })], "records")).toEqual([]);
});

test("records are those that were counted, in proportion between two reports", () => {
  const counted = (totalBatches: number, numInputs: number, trialId = 1) => ({ ...report(trialId, "training", totalBatches, {}), numInputs });
  const reports = [counted(20, 600), counted(10, 100), report(1, "validation", 20, {}), counted(5, 10, 2), report(2, "training", 10, {})];
  const totals = countedRecords(reports);
  expect(totals.get(1)).toEqual([
    [10, 100],
    [20, 700],
  ]);
  expect(totals.has(2), "a report that says nothing").toBe(false);
  const scale = { startTime: "", batchSize: 1, counted: totals.get(1) ?? [] };
  const at = (totalBatches: number) => position({ totalBatches, endTime: "" }, "records", scale);
  expect([0, 5, 10, 15, 20, 40].map(at)).toEqual([0, 50, 100, 400, 700, 1400]);
  expect(possibleAxes([{ startTime: "", counted: totals.get(1) ?? [] }])).toContain("records");
});

test("an axis is offered when every trial can be on it", () => {
  expect(possibleAxes([scale])).toEqual(["batches", "epochs", "records", "time", "wall time"]);
  expect(possibleAxes([scale, { startTime: "", batchSize: 8 }])).toEqual(["batches", "records", "time", "wall time"]);
  expect(possibleAxes([])).toEqual(["batches", "time", "wall time"]);
});

test("batch size and epoch come from hyperparameters and configuration", () => {
  const trial = { startTime: "t", hparams: { global_batch_size: 8 } };
  expect(scaleOf(trial, { records_per_epoch: 100 })).toEqual({ startTime: "t", batchSize: 8, recordsPerEpoch: 100 });
  expect(scaleOf({ startTime: "t", hparams: {} }, null)).toEqual({ startTime: "t" });
});

test("a later report at the same batches replaces the earlier one, and trial 10 comes after trial 9", () => {
  const [first] = charts(points([report(1, "training", 1, { loss: 1 }), report(1, "training", 1, { loss: 2 })]), "");
  expect(first?.data[1]).toEqual([2]);
  const [two] = charts(points([report(10, "validation", 5, { loss: 2 }), report(9, "validation", 5, { loss: 1 })]), "");
  expect(two?.series.map((s) => s.trialId)).toEqual([9, 10]);
});

test("a group has the same place in all charts of a trial", () => {
  const place = (group: string, index: number) => placeOf({ label: group, trialId: 1, group }, index);
  expect([place("training", 0), place("validation", 1)]).toEqual([0, 1]);
  expect(place("validation", 0)).toBe(1);
  expect(place("disk", 3)).toBe(3);
});
