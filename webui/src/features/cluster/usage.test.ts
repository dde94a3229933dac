import { expect, test } from "vitest";
import type { Slot, TaskSummary } from "../../api/types";
import { agentSlots, holders, taskSubject } from "./usage";

const task = (name: string, slots: Record<string, number[]>): TaskSummary => ({
  taskId: "t",
  allocationId: "a",
  name,
  registeredTime: "",
  resourcePool: "default",
  slotsNeeded: 1,
  resources: [
    {
      agentDevices: Object.fromEntries(
        Object.entries(slots).map(([agent, ids]) => [agent, { devices: ids.map((id) => ({ id })) }]),
      ),
    },
  ],
  state: "Running",
  waitingReason: "",
});

test("a task's name tells its trial and experiment", () => {
  expect(taskSubject({ name: "Trial 12 (Experiment 3)" })).toEqual({ trial: 12, experiment: 3 });
  expect(taskSubject({ name: "Shell 1" })).toBeUndefined();
});

test("each slot of a distributed task is held by it", () => {
  const used = holders([task("Trial 1 (Experiment 1)", { a: [0, 1], b: [3] }), task("Shell 9", { b: [0] })]);
  expect([...used.keys()]).toEqual(["a/0", "a/1", "b/3", "b/0"]);
  expect(used.get("b/3")).toMatchObject({ brief: "t1", view: { page: "trial", id: 1 } });
  expect(used.get("b/0")).toMatchObject({ brief: "task" });
});

test("slots are in the order of their numbers", () => {
  const slot = (id: string): Slot => ({ id, device: { id: 0, brand: "", type: "" }, enabled: true, draining: false });
  expect(agentSlots({ slots: { x: slot("10"), y: slot("2"), z: slot("0") } }).map(({ id }) => id)).toEqual(["0", "2", "10"]);
});
