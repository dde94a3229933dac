import { expect, test } from "vitest";
import { placing } from "./placing";

const at = (trialId: number, seconds: number, totalBatches = 0, group = "training") => ({ trialId, totalBatches, group, endTime: new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString() });
const scales = new Map([[7, { startTime: "2026-01-01T00:00:00Z" }]]);

test("a moment between two reports of its trial is between them on the axis", () => {
  const place = placing([at(7, 20, 200), at(7, 10, 100), at(8, 15, 9000), at(7, 14, 1_767_225_614, "cpu")], "batches", scales);
  expect([5, 10, 13, 20, 21].map((seconds) => place(at(7, seconds)))).toEqual([undefined, 100, 130, 200, undefined]);
  expect(place(at(9, 15))).toBeUndefined();
});

test("on an axis of time every moment has its place", () => {
  expect(placing([], "time", scales)(at(7, 42))).toBe(42);
});
