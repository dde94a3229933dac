import { expect, test } from "vitest";
import { brushOf, brushText, isWithin, parseBrushes } from "./brush";

test.each([
  [0.2, 0.6, { from: 0.2, to: 0.6 }],
  [0.6, 0.2, { from: 0.2, to: 0.6 }],
  [0.9, 1.4, { from: 0.9, to: 1 }],
  [0.5, 0.5, { from: 0.45, to: 0.55 }],
  [0, 0, { from: 0, to: 0.05 }],
])("a pointer that goes from %d to %d selects that part, and a click what is around it", (start, end, expected) => {
  expect(brushOf(start, end)).toEqual(expected);
});

test("an address keeps the parts, whatever axes are called", () => {
  const brushes = new Map([["a, b", { from: 0, to: 0.25 }], ["net.width", { from: 0.5, to: 1 }]]);
  expect(parseBrushes(brushText(brushes))).toEqual(brushes);
  expect(parseBrushes("lr,lr 1 0,lr x 1,%E0%A4%A 0 1,")).toEqual(new Map());
});

test("a trial is shown that is in all parts; one without a value is in none", () => {
  const brushes = new Map([["lr", { from: 0.2, to: 0.4 }], ["gone", { from: 0, to: 0 }]]);
  expect(isWithin(brushes, new Map([["lr", 0.3]]))).toBe(true);
  expect(isWithin(brushes, new Map([["lr", 0.5]]))).toBe(false);
  expect(isWithin(brushes, new Map([["lr", undefined]]))).toBe(false);
  expect(isWithin(new Map(), new Map([["lr", undefined]]))).toBe(true);
});
