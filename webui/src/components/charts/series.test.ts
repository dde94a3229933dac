import { expect, test } from "vitest";
import type { MetricReport } from "../../api/types";
import { csv, inUnits, isolated, neighbours, notDrawn, smooth, unitOf } from "./series";

test("smoothing draws a constant where there is one, and follows a step slowly", () => {
  expect(smooth([1, 2, 3], [2, 2, 2], 0.9)).toEqual([2, 2, 2].map((v) => expect.closeTo(v)));
  const [first, second, third] = smooth([10, 20, 30], [0, 1, 1], 0.5);
  expect([first, second, third]).toEqual([0, expect.closeTo(2 / 3), expect.closeTo(6 / 7)]);
});

test("what is missing stays missing, a gap begins anew, no weight changes nothing", () => {
  expect(smooth([1, 2, 3, 4], [1, undefined, null, 5], 0.9)).toEqual([1, undefined, null, 5]);
  expect(smooth([1, 2], [1, 2], 0)).toEqual([1, 2]);
  expect(smooth([7], [1], 0.9)).toEqual([1]);
  expect(smooth([7, 7], [1, 3], 0.5)).toEqual([1, 2]);
});

test("what is far away counts less than what is near, whatever the number of reports between them", () => {
  // Usually 10 apart: the second is 5 after the first, the third 15 after the second.
  const [, near, far] = smooth([0, 5, 20], [0, 1, 1], 0.25);
  expect(near).toBeCloseTo(1 / (1 + 0.5));
  expect(far).toBeCloseTo((0.125 + 1) / (0.125 * 1.5 + 1));
});

const report = (group: string, totalBatches: number, values: Record<string, unknown>): MetricReport => ({
  trialId: 3,
  trialRunId: 1,
  endTime: "2026-01-01T00:00:00Z",
  totalBatches,
  group,
  metrics: group === "validation" ? { validation_metrics: values } : { avg_metrics: values },
});

test("reports are a table with a column for each metric", () => {
  const text = csv([report("training", 10, { loss: 0.5 }), report("validation", 10, { acc: "NaN", note: 'a "b", c' })]);
  expect(text).toBe(
    'trial,group,batches,records,time,acc,loss,note\r\n3,training,10,,2026-01-01T00:00:00Z,,0.5,\r\n3,validation,10,,2026-01-01T00:00:00Z,NaN,,"a ""b"", c"\r\n',
  );
  expect(csv([])).toBe("trial,group,batches,records,time\r\n");
});

test.each<[string, (number | null | undefined)[], number[]]>([
  ["a value alone", [7], [0]],
  ["a value between gaps", [null, 7, null], [1]],
  ["a value between gaps, far away", [1, 2, null, undefined, 7, undefined, null, 3, 4], [4]],
  ["a value at an end beside a gap", [1, null, 2, 3], [0]],
  ["the only value of a trial among others'", [undefined, undefined, 7, undefined], [2]],
  ["no value that a line reaches", [1, undefined, 2, 3], []],
  ["nothing where there is nothing", [null, undefined], []],
])("%s is drawn as a point", (_, values, expected) => {
  expect(isolated(values)).toEqual(expected);
});

test.each([
  ["usual values stay as they are", [0.5, 20_000], 1],
  ["large ones are divided", [3e36, 1], 1e36],
  ["so are small ones", [-4e-20, 1e-21], 1e-20],
  ["zeros stay", [0, 0], 1],
])("%s", (_, values, unit) => {
  expect(unitOf([values, [null, undefined]])).toBe(unit);
});

test("values in units are the values divided; gaps stay gaps", () => {
  expect(inUnits([2e36, null, undefined], 1e36)).toEqual([2, null, undefined]);
});

test("what is not drawn is counted as people do", () => {
  expect(notDrawn(1)).toBe("1 value is NaN or infinite and not shown");
  expect(notDrawn(1200)).toBe("1,200 values are NaN or infinite and not shown");
});

test.each([
  ["between two values, over what others report", 2.5, [0, 3]],
  ["at a value", 3, [3, 3]],
  ["before its first", -1, undefined],
  ["after its last", 6, undefined],
  ["in a gap", 3.5, undefined],
])("a curve %s is found", (_, x, expected) => {
  expect(neighbours([0, 1, 2, 3, 4, 5], [1, undefined, undefined, 2, null, 3], x)).toEqual(expected);
});
