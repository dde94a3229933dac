import { expect, test } from "vitest";
import { colourAt, keptPlaces } from "./palette";

test("a hundred things have a hundred colours", () => {
  expect(new Set(Array.from({ length: 100 }, (_, place) => colourAt(place))).size).toBe(100);
});

test("what is drawn already keeps its colour when others come and go", () => {
  const first = keptPlaces(new Map(), [5, 7, 9]);
  expect([...first]).toEqual([[5, 0], [7, 1], [9, 2]]);
  const later = keptPlaces(first, [3, 5, 9, 11]);
  expect(new Map([...later].sort(([a], [b]) => a - b))).toEqual(new Map([[3, 1], [5, 0], [9, 2], [11, 3]]));
});
