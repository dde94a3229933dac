import { expect, test } from "vitest";
import type { MetricReport } from "../../api/types";
import { newest } from "./reports";

const report = (totalBatches: number, endTime = "2026-01-01T00:00:00Z"): MetricReport => ({
  trialId: 1,
  trialRunId: 1,
  endTime,
  totalBatches,
  group: "training",
  metrics: { avg_metrics: { loss: totalBatches } },
});

test("what was read again and is the same is not drawn again", () => {
  const before = [report(1), report(2)];
  expect(newest(before, [report(1), report(2)])).toBe(before);
});

test.each([
  ["one more", [report(1), report(2), report(3)]],
  ["one at another place", [report(1), report(3)]],
  ["one that was reported again", [report(1), report(2, "2026-01-01T00:05:00Z")]],
])("%s is drawn", (_, read) => {
  expect(newest([report(1), report(2)], read)).toBe(read);
});
