import { expect, test } from "vitest";
import { distribution } from "./distribution";

test.each([
  ["smaller is better", [3, 1, 2, 2], true, [[1, 0.25], [2, 0.75], [3, 1]]],
  ["larger is better", [3, 1, 2, 2], false, [[3, 0.25], [2, 0.75], [1, 1]]],
  ["a result that is no number", [2, NaN, 1, Infinity], true, [[1, 0.25], [2, 0.5]]],
  ["nothing", [], true, []],
] as const)("%s", (_, metrics, smaller, expected) => {
  expect(distribution(metrics, smaller).map(({ value, part }) => [value, part])).toEqual(expected);
});
