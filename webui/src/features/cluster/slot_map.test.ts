import { expect, test } from "vitest";
import type { Agent, Job, TaskSummary } from "../../api/types";
import { slotMap } from "./slot_map";

const agent = (id: string, slots: number, more: Partial<Agent> = {}) =>
  ({ id, enabled: true, draining: false, resourcePools: ["default"], slots: Object.fromEntries(Array.from({ length: slots }, (_, i) => [String(i), { id: String(i), enabled: i !== 3 }])), ...more }) as unknown as Agent;
const task = (name: string, on: string, ids: number[], taskId = "t") => ({ name, taskId, resources: [{ agentDevices: { [on]: { devices: ids.map((id) => ({ id })) } } }] }) as unknown as TaskSummary;
const job = (entityId: string, username: string, name: string) => ({ entityId, username, name }) as Job;

const agents = [agent("a", 4), agent("b", 2, { enabled: false })];
const tasks = [task("Trial 7 (Experiment 3)", "a", [0]), task("Trial 8 (Experiment 4)", "a", [1]), task("Shell 9", "b", [0], "s9")];
const jobs = [job("3", "ann", "mnist"), job("4", "ann", "bert"), job("s9", "bob", "a shell")];

test("slots have the colour of their user, of whom the one with the most is first", () => {
  const map = slotMap(agents, tasks, jobs, "user");
  expect(map.owners).toEqual([{ name: "ann", slots: 2 }, { name: "bob", slots: 1 }]);
  expect(map.agents.map(({ cells }) => cells.map(({ use, owner }) => (use === "used" ? owner : use)))).toEqual([[0, 0, "free", "disabled"], [1, "disabled"]]);
  expect([map.free, map.disabled]).toEqual([1, 2]);
  expect(map.agents[0]?.text).toBe("2 of 4 slots used: ann 2");
  expect(map.agents[1]?.cells[0]?.text).toBe("Slot 0: bob, Shell 9");
});

test("or of their job", () => {
  expect(slotMap(agents, tasks, jobs, "job").owners.map(({ name }) => name)).toEqual(["a shell", "bert", "mnist"]);
  expect(slotMap(agents, tasks, [], "user").owners).toEqual([{ name: "unknown", slots: 3 }]);
});
