import { expect, test } from "vitest";
import { bestTrials } from "./best";

const trials = [
  { id: 1, searcherMetricValue: 0.5 },
  { id: 2, searcherMetricValue: null },
  { id: 3, searcherMetricValue: 0.1 },
  { id: 4, searcherMetricValue: "NaN" },
  { id: 5, searcherMetricValue: 0.5 },
];

test.each([
  [true, [3, 1, 5, 2, 4]],
  [false, [1, 5, 3, 2, 4]],
])("the best trials come first (smaller is better: %s)", (smaller, expected) => {
  expect(bestTrials(trials, smaller).map(({ id }) => id)).toEqual(expected);
});
