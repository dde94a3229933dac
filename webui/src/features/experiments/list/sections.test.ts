import { expect, test } from "vitest";
import { pagesFor, placesOf, rowsOf, type Section } from "./sections";

const group = (count: number, open: boolean): Section => ({ count, open, headed: true });
const groups = [group(3, true), group(100, false), group(2, true)];
const text = (places: ReturnType<typeof placesOf>) => places.map((place) => (place.kind === "head" ? `${place.section}` : `${place.section}.${place.row}`)).join(" ");

test.each<[first: number, end: number, places: string]>([
  [0, 100, "0 0.0 0.1 0.2 1 2 2.0 2.1"],
  [2, 5, "0.1 0.2 1"],
  [5, 6, "2"],
  [8, 20, ""],
])("groups from %d to %d: %s", (first, end, places) => {
  expect(rowsOf(groups)).toBe(8);
  expect(text(placesOf(groups, first, end))).toBe(places);
});

test("a list without groups has rows alone", () => {
  const list = [{ count: 100_000, open: true, headed: false }];
  expect(rowsOf(list)).toBe(100_000);
  expect(text(placesOf(list, 99_998, 100_010))).toBe("0.99998 0.99999");
  expect(rowsOf([])).toBe(0);
});

test("what is in view names the pages that have it", () => {
  expect(pagesFor(placesOf([{ count: 1000, open: true, headed: false }], 45, 101), 50)).toEqual([0, 1, 2].map((page) => ({ section: 0, page })));
  expect(pagesFor(placesOf(groups, 0, 8), 50)).toEqual([0, 2].map((section) => ({ section, page: 0 })));
});
