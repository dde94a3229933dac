import { expect, test } from "vitest";
import type { LogLine } from "../../api/types";
import { append, emptyWindow, isAfter, marked, prepend, visible } from "./log_window";

const line = (id: number): LogLine => ({ id: String(id), timestamp: "", message: "", log: `line ${id}\n` });
const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => line(from + i));
const ids = (window: { lines: readonly LogLine[] }) => window.lines.map(({ id }) => Number(id));

test("ids are compared as numbers of any length", () => {
  expect(isAfter("10", "9")).toBe(true);
  expect(isAfter("9", "10")).toBe(false);
  expect(isAfter("9007199254740993", "9007199254740992")).toBe(true);
});

test("newer lines come at the end, each once", () => {
  const window = append(append(emptyWindow, lines(1, 3)), lines(2, 5));
  expect(ids(window)).toEqual([1, 2, 3, 4, 5]);
  expect(append(window, lines(4, 5))).toBe(window);
});

test("too many lines: following drops the oldest, reading back drops the newest", () => {
  const followed = append(append(emptyWindow, lines(1, 4)), lines(5, 6), 5);
  expect(ids(followed)).toEqual([2, 3, 4, 5, 6]);
  expect(followed.moreBefore).toBe(true);
  const back = prepend(append(emptyWindow, lines(5, 8)), lines(2, 4), true, 5);
  expect(ids(back)).toEqual([2, 3, 4, 5, 6]);
  expect(back).toMatchObject({ moreBefore: true, moreAfter: true });
});

test("older lines come at the beginning, each once", () => {
  const window = prepend(append(emptyWindow, lines(5, 6)), lines(3, 5), false);
  expect(ids(window)).toEqual([3, 4, 5, 6]);
  expect(window.moreBefore).toBe(false);
});

test.each([
  [1000, 0, 100, [0, 30]],
  [1000, 5000, 100, [480, 530]],
  [1000, 10_000, 100, [980, 1000]],
  [3, 0, 100, [0, 3]],
  [0, 0, 100, [0, 0]],
  [10, 99_999, 100, [10, 10]],
])("of %d lines, scrolled to %d, a box of %d shows %j", (count, top, height, expected) => {
  expect(visible(count, 10, top, height)).toEqual(expected);
});

test.each([
  ["a loss b loss", "loss", ["a ", "loss", " b ", "loss", ""]],
  ["nothing", "loss", ["nothing"]],
  ["all", "", ["all"]],
  ["aaa", "aa", ["", "aa", "a"]],
])("in %j, %j is marked", (text, searched, expected) => {
  expect(marked(text, searched)).toEqual(expected);
});
