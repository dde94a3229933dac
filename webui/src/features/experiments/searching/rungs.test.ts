import { expect, test } from "vitest";
import { rungs } from "./rungs";

const trial = (state: string, totalBatchesProcessed: number, targetBatches: number, searcherMetricValue: number | null) => ({
  state: `STATE_${state}`,
  totalBatchesProcessed,
  targetBatches,
  searcherMetricValue,
});

test("each length to which trials were sent is a rung", () => {
  const made = rungs(
    [
      trial("COMPLETED", 16, 0, 0.9), // stopped at the first rung
      trial("COMPLETED", 16, 0, 0.8),
      trial("RUNNING", 20, 64, 0.5), // promoted, on its way
      trial("COMPLETED", 64, 0, 0.3),
      trial("RUNNING", 3, 16, null), // on its way to the first
    ],
    true,
  );
  expect(made).toEqual([
    { length: 16, entered: 5, reached: 4, promoted: 2, stopped: 2, best: 0.3 },
    { length: 64, entered: 2, reached: 1, promoted: 0, stopped: 1, best: 0.3 },
  ]);
});

test("a trial that failed on its way makes no rung; a larger metric may be the better one", () => {
  const made = rungs([trial("COMPLETED", 10, 0, 0.7), trial("ERROR", 7, 0, 0.9), trial("COMPLETED", 10, 0, 0.8)], false);
  expect(made).toEqual([{ length: 10, entered: 2, reached: 2, promoted: 0, stopped: 2, best: 0.8 }]);
});

test("no trials, no rungs", () => {
  expect(rungs([], true)).toEqual([]);
});
