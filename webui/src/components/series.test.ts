import { expect, test } from "vitest";
import type { MetricReport } from "../api/types";
import { csv, smooth } from "./series";

test("smoothing draws a constant where there is one, and follows a step slowly", () => {
  expect(smooth([2, 2, 2], 0.9)).toEqual([2, 2, 2].map((v) => expect.closeTo(v)));
  const [first, second, third] = smooth([0, 1, 1], 0.5);
  expect([first, second, third]).toEqual([0, expect.closeTo(2 / 3), expect.closeTo(6 / 7)]);
});

test("what is missing stays missing, a gap begins anew, no weight changes nothing", () => {
  expect(smooth([1, undefined, null, 5], 0.9)).toEqual([1, undefined, null, 5]);
  expect(smooth([1, 2], 0)).toEqual([1, 2]);
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
