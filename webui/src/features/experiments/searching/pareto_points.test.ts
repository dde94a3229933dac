import { expect, test } from "vitest";
import { axesOf, extent, isDrawable, stairs } from "./pareto_points";

const point = (...values: readonly number[]) => ({ trialId: 1, batches: "1", values });

test("metrics say in which direction they are better", () => {
  expect(axesOf(["loss:min", "accuracy:max", "a:b"])).toEqual([
    { name: "loss", smaller: true },
    { name: "accuracy", smaller: false },
    { name: "a:b", smaller: true },
  ]);
});

test.each([
  [[], { min: 0, max: 1, log: false }],
  [[point(3)], { min: 1.5, max: 4.5, log: false }],
  [[point(0)], { min: -0.5, max: 0.5, log: false }],
  [[point(3), point(-1)], { min: -1, max: 3, log: false }],
])("the extent of %j is %j", (points, expected) => {
  expect(extent(points, 0)).toEqual(expected);
});

test("what is no finite number is not drawn", () => {
  expect(isDrawable(point(1, NaN, 2), [0, 2])).toBe(true);
  expect(isDrawable(point(1, NaN, 2), [0, 1])).toBe(false);
  expect(isDrawable(point(Infinity, 1), [0, 1])).toBe(false);
});

test("the front is a staircase in the direction of both metrics", () => {
  const axes = axesOf(["loss:min", "accuracy:max"]);
  expect(stairs([point(2, 0.9), point(1, 0.5), point(3, 0.7)], [0, 1], axes)).toEqual([
    [1, 0.5],
    [2, 0.5],
    [2, 0.9],
  ]);
});
