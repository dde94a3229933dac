import { describe, expect, it } from "vitest";
import { nodeSeries, stepPath } from "./provider_history";

const sample = (nodesRunning: number, nodesRequested: number, slotsUsed: number, slotsWaitedFor: number) => ({
  time: "2026-01-02T03:04:05Z",
  nodesRunning,
  nodesRequested,
  slotsUsed,
  slotsWaitedFor,
});

describe("the nodes of a pool over time", () => {
  it("are counted as they run, are requested, and are needed", () => {
    const series = nodeSeries([sample(0, 2, 0, 5), sample(2, 0, 4, 1)], 4);
    expect(series.map(({ name, values }) => [name, values])).toEqual([
      ["running", [0, 2]],
      ["running and requested", [2, 2]],
      ["needed", [2, 2]],
    ]);
  });

  it("keep each value until the next one", () => {
    expect(stepPath([1, 3], (i) => i * 10, (v) => 100 - v)).toBe("M0,99H10V97");
    expect(stepPath([], Number, Number)).toBe("");
  });
});
