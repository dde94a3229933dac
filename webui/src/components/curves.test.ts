import { expect, test } from "vitest";
import type { MetricReport } from "../api/types";
import { chart, charts, points } from "./curves";

const training = (trialId: number, totalBatches: number, avg_metrics: Record<string, unknown>): MetricReport => ({
  trialId,
  totalBatches,
  group: "training",
  metrics: { avg_metrics },
});
const validation = (trialId: number, totalBatches: number, validation_metrics: Record<string, unknown>): MetricReport => ({
  trialId,
  totalBatches,
  group: "validation",
  metrics: { validation_metrics },
});

test("only numbers become points", () => {
  expect(points([training(1, 10, { loss: 0.5, note: "x", deep: { a: 1 }, bad: "NaN" })])).toEqual([
    { trialId: 1, group: "training", name: "loss", batches: 10, value: 0.5 },
    { trialId: 1, group: "training", name: "bad", batches: 10, value: Number.NaN },
  ]);
});

test("one trial has a series a group, training first, on one axis", () => {
  const all = points([validation(1, 20, { loss: 0.3 }), training(1, 10, { loss: 0.5 }), training(1, 20, { loss: 0.4 })]);
  expect(chart("loss", all)).toEqual({
    name: "loss",
    labels: ["training", "validation"],
    data: [
      [10, 20],
      [0.5, 0.4],
      [undefined, 0.3],
    ],
    notFinite: 0,
  });
});

test("several trials are told apart and ordered by number", () => {
  const all = points([validation(10, 5, { loss: 2 }), validation(9, 5, { loss: 1 })]);
  expect(chart("loss", all).labels).toEqual(["trial 9 validation", "trial 10 validation"]);
});

test("values that are not finite leave a gap and are counted", () => {
  const all = points([training(1, 1, { loss: 1 }), training(1, 2, { loss: "NaN" }), training(1, 3, { loss: "Infinity" })]);
  const made = chart("loss", all);
  expect(made.data[1]).toEqual([1, null, null]);
  expect(made.notFinite).toBe(2);
});

test("a later report at the same batches replaces the earlier one", () => {
  expect(chart("loss", points([training(1, 1, { loss: 1 }), training(1, 1, { loss: 2 })])).data[1]).toEqual([2]);
});

test("the search's metric is the first chart, the others follow by name", () => {
  const all = points([training(1, 1, { zeta: 1, alpha: 1, accuracy: 1 })]);
  expect(charts(all, "zeta").map((c) => c.name)).toEqual(["zeta", "accuracy", "alpha"]);
  expect(charts([], "zeta")).toEqual([]);
});
