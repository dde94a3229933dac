import { expect, test } from "vitest";
import type { Checkpoint, LogLine } from "../../api/types";
import { runs } from "./runs";

const checkpoint = (uuid: string, run: number, steps: number): Checkpoint => ({
  uuid,
  taskId: "1.t",
  allocationId: `1.t.${run}`,
  reportTime: "",
  state: "STATE_COMPLETED",
  resources: {},
  metadata: { steps_completed: steps },
  training: {},
});
const line = (log: string, timestamp = ""): LogLine => ({ id: "1", timestamp, message: "", log });

test("a run goes on from the newest checkpoint of the runs before it", () => {
  const made = runs(
    [checkpoint("a", 1, 40), checkpoint("b", 1, 80), checkpoint("c", 2, 120)],
    130,
    [line("trial 1 (run 1) starts on agent x\n", "t1"), line("trial 1 (run 2) starts on agent y with 1 slot, of 1 to 8\n", "t2"), line("INFO: determined: going on after batch 80\n")],
  );
  expect(made).toEqual([
    { run: 1, started: "t1", agent: "x", from: undefined, saidFrom: undefined, lastBatch: 80, checkpoints: 2 },
    { run: 2, started: "t2", agent: "y", slots: 1, from: { uuid: "b", batches: 80 }, saidFrom: 80, lastBatch: 130, checkpoints: 1 },
  ]);
});

test("what a run says goes before what is newest", () => {
  const [, second] = runs([checkpoint("a", 1, 40), checkpoint("b", 1, 80)], 50, [
    line("trial 1 (run 2) starts on agent y"),
    line("determined: going on after batch 40"),
  ]);
  expect(second?.from?.uuid).toBe("a");
});

test("without log lines the checkpoints still say which runs there were", () => {
  expect(runs([checkpoint("a", 1, 40), checkpoint("b", 2, 80)], 90, []).map(({ run, from, lastBatch }) => [run, from?.uuid, lastBatch])).toEqual([
    [1, undefined, 40],
    [2, "a", 90],
  ]);
  expect(runs([], 0, [])).toEqual([]);
});
