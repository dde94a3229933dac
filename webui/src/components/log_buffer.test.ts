import { expect, test } from "vitest";
import { append, blockLines, emptyLog, linesMax } from "./log_buffer";

const lines = (from: number, count: number) => Array.from({ length: count }, (_, i) => `line ${from + i}`);

test.each([1, 7, blockLines, blockLines + 1, 1000])("lines come out as they went in, %d at a time", (step) => {
  let buffer = emptyLog;
  for (let from = 0; from < 1000; from += step) buffer = append(buffer, lines(from, Math.min(step, 1000 - from)));
  expect(buffer.blocks.flatMap((block) => block.lines)).toEqual(lines(0, 1000));
  expect(buffer.blocks.every((block) => block.lines.length <= blockLines)).toBe(true);
  expect(new Set(buffer.blocks.map((block) => block.id)).size).toBe(buffer.blocks.length);
});

test("full blocks are kept as they are", () => {
  const before = append(emptyLog, lines(0, blockLines + 5));
  const after = append(before, lines(blockLines + 5, 5));
  expect(after.blocks[0]).toBe(before.blocks[0]);
});

test("the oldest lines go when there are too many, and are counted", () => {
  const buffer = append(emptyLog, lines(0, linesMax + 3 * blockLines));
  const kept = buffer.blocks.flatMap((block) => block.lines);
  expect(kept.length).toBe(linesMax);
  expect(buffer.dropped).toBe(3 * blockLines);
  expect(kept.at(-1)).toBe(`line ${linesMax + 3 * blockLines - 1}`);
});
