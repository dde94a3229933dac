import { expect, test } from "vitest";
import { continued, linesMax, offsetAfter, type OwnLine } from "./own_log";

const line = (id: number, run = "first"): OwnLine => ({ id, message: `${run} ${id}`, timestamp: run, level: "LOG_LEVEL_INFO" });
const lines = (from: number, to: number, run?: string) => Array.from({ length: to - from + 1 }, (_, i) => line(from + i, run));

test("at first the newest lines are asked for, then those from the last one on", () => {
  expect(offsetAfter([])).toBe(-linesMax);
  expect(offsetAfter(lines(3, 7))).toBe(7);
});

test("new lines are put behind those that are here, each once", () => {
  expect(continued(lines(1, 3), lines(3, 5))).toEqual(lines(1, 5));
  expect(continued([], lines(1, 2))).toEqual(lines(1, 2));
});

test("where nothing is new, nothing changes", () => {
  const here = lines(1, 3);
  expect(continued(here, lines(3, 3))).toBe(here);
});

test.each([
  ["the master restarted and counts anew", lines(3, 5, "second")],
  ["the master restarted and has written less", []],
  ["the last line was dropped meanwhile", lines(9, 12)],
])("all is read anew where %s", (_, read) => {
  expect(continued(lines(1, 3), read)).toBeUndefined();
});

test("the oldest lines go where there are too many", () => {
  const joined = continued(lines(1, linesMax), lines(linesMax, linesMax + 5)) ?? [];
  expect([joined.length, joined[0]?.id, joined.at(-1)?.id]).toEqual([linesMax, 6, linesMax + 5]);
});
