import { expect, test } from "vitest";
import { type Sources, timelineOf } from "./timeline";

const at = (seconds: number) => new Date(Date.UTC(2026, 2, 1, 10, 0, seconds)).toISOString();
const seconds = (time: number) => (time - Date.parse(at(0))) / 1000;

const sources = {
  metric: "loss",
  allocations: [
    { allocationId: "7.u.1", requestedTime: at(0), startTime: at(5), endTime: at(20), agents: ["a"], slots: 2, exitReason: "" },
    { allocationId: "7.u.2", requestedTime: at(20), startTime: at(20), agents: ["a", "b"], slots: 1, exitReason: "" },
  ],
  checkpoints: [{ allocationId: "7.u.1", reportTime: at(18), metadata: { steps_completed: 40 } }],
  validations: [{ validation: { endTime: at(15), totalBatches: 30, numInputs: 0, metrics: { avgMetrics: { loss: 0.25 } } } }],
  notes: [
    { timestamp: at(5), log: "trial 7 (run 1) starts on agent a with 2 slots, of 1 to 4\n" },
    { timestamp: at(16), log: "the trial gives its 2 slots back, to resume from a checkpoint on 1\n" },
  ],
} as unknown as Sources;

test("what happened is told in order, each thing once", () => {
  const { events, begin, end } = timelineOf(sources, Date.parse(at(30)));
  expect(events.map(({ time, run, text }) => `${seconds(time)} ${run}: ${text}`)).toEqual([
    "0 1: Queued",
    "5 1: Run 1 started on a with 2 slots",
    "15 1: Validated after batch 30: loss 0.25",
    "16 1: The trial gives its 2 slots back, to resume from a checkpoint on 1",
    "18 1: Saved a checkpoint after batch 40",
    "20 1: Run 1 ended",
    "20 2: Run 2 started on a, b with 1 slot",
  ]);
  expect([begin, end].map(seconds)).toEqual([0, 30]);
});

test("each run has a lane; one that goes on has no end", () => {
  const { lanes } = timelineOf(sources, Date.parse(at(30)));
  expect(lanes.map(({ run, requested, started, ended }) => [run, seconds(requested), seconds(started ?? 0), ended && seconds(ended)])).toEqual([
    [1, 0, 5, 20],
    [2, 20, 20, undefined],
  ]);
});

test("a trial that has not begun, and one that waits", () => {
  expect(timelineOf({ ...sources, allocations: [], checkpoints: [], validations: [], notes: [] }, 1000)).toEqual({ begin: 1000, end: 1001, lanes: [], events: [] });
  const waiting = timelineOf({ ...sources, allocations: [{ ...sources.allocations[0], startTime: null, endTime: null, slots: 0, agents: [] } as never], checkpoints: [], validations: [], notes: [] }, Date.parse(at(9)));
  expect(waiting.events.map(({ text }) => text)).toEqual(["Queued"]);
  expect(seconds(waiting.end)).toBe(9);
});
