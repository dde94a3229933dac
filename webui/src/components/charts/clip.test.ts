import { expect, test } from "vitest";
import { clipped, every, widthOf } from "./clip";

test.each([
  ["adam", 40, "adam"],
  ["a very long optimizer", 50, "a very…"],
  ["anything", 0, "a…"],
])("%s has its place in %i pixels as %s", (text, room, expected) => {
  expect(clipped(text, room)).toBe(expected);
  if (room > 0) expect(widthOf(clipped(text, room))).toBeLessThanOrEqual(room);
});

test("where texts have too little room, some stay away", () => {
  expect([every(60, 30), every(10, 30), every(0, 30)]).toEqual([1, 3, 30]);
});
