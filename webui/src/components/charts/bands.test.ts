import { expect, test } from "vitest";
import { filled, grouped, joined } from "./bands";
import { chart } from "./curves";

test("a curve has the values between its reports, and none beyond them or beside a gap", () => {
  expect(filled([0, 1, 3, 4], [2, undefined, 8, undefined])).toEqual([2, 4, 8, undefined]);
  expect(filled([0, 1, 2], [undefined, undefined, 3])).toEqual([undefined, undefined, 3]);
  expect(filled([0, 1, 2], [1, undefined, null])).toEqual([1, undefined, null]);
});

test("a band reaches from the least to the greatest value, or one standard deviation of a sample", () => {
  const curves = [[1, 5], [3, undefined]];
  expect(joined(curves, "min–max")).toEqual({ mean: [2, 5], low: [1, 5], high: [3, 5] });
  const { low, high } = joined(curves, "std");
  expect(low[0]).toBeCloseTo(2 - Math.SQRT2);
  expect(high[0]).toBeCloseTo(2 + Math.SQRT2);
  expect([low[1], high[1]]).toEqual([5, 5]);
});

const point = (trialId: number, x: number, value: number, group = "validation") => ({ trialId, group, name: "loss", x, value });

test("trials with the same value are one curve, in the order of the values", () => {
  const made = chart("loss", [point(1, 1, 4), point(2, 1, 2), point(3, 1, 9)]);
  const { series, data, bands } = grouped(made, "lr", (id) => (id === 3 ? "0.02" : "0.1"), "min–max");
  expect(series.map(({ label, edge }) => [label, edge ?? false])).toEqual([["lr 0.02", false], ["lr 0.1 (2)", false], ["lr 0.1 (2)", true], ["lr 0.1 (2)", true]]);
  expect(data).toEqual([[1], [9], [3], [2], [4]]);
  expect(bands).toEqual([{ of: 1, low: 2, high: 3 }]);
  expect(series.map(({ place }) => place)).toEqual([0, 1, 1, 1]);
});

test("training and validation stay apart, and without a band there are only means", () => {
  const made = chart("loss", [point(1, 1, 4), point(1, 1, 6, "training"), point(2, 1, 2), point(2, 1, 8, "training")]);
  const { series, data, bands } = grouped(made, "seed", () => "any", "none");
  expect(series.map(({ label }) => label)).toEqual(["seed any training (2)", "seed any validation (2)"]);
  expect(data).toEqual([[1], [7], [3]]);
  expect(bands).toEqual([]);
});
