import { expect, test } from "vitest";
import { parseOrder, sorted, toggled } from "./sorting";

test("an order is a column, with a minus when descending", () => {
  expect(parseOrder("-id")).toEqual({ by: "id", descending: true });
  expect(parseOrder("name")).toEqual({ by: "name", descending: false });
});

test("a click sorts by another column, and turns the same one around", () => {
  expect(toggled({ by: "id", descending: true }, "name")).toEqual({ by: "name", descending: false });
  expect(toggled({ by: "name", descending: false }, "name")).toEqual({ by: "name", descending: true });
  expect(toggled({ by: "name", descending: true }, "name")).toEqual({ by: "name", descending: false });
});

test.each([
  [[3, 1, 2], false, [1, 2, 3]],
  [[3, 1, 2], true, [3, 2, 1]],
  [[3, undefined, Number.NaN, 1], false, [1, 3, undefined, Number.NaN]],
  [[3, undefined, 1], true, [3, 1, undefined]],
  [["b10", "b9", "", "a"], false, ["a", "b9", "b10", ""]],
  [[Number.POSITIVE_INFINITY, 1], false, [1, Number.POSITIVE_INFINITY]],
])("%j sorted (descending: %s) is %j", (values, descending, expected) => {
  expect(sorted(values as (number | string | undefined)[], (v) => v, descending)).toEqual(expected);
});

test("rows that are equal keep their order, in both directions", () => {
  const rows = [
    { id: 1, key: 5 },
    { id: 2, key: 5 },
  ];
  expect(sorted(rows, (row) => row.key, true).map((row) => row.id)).toEqual([1, 2]);
});
