import { expect, test } from "vitest";
import { rightsOf } from "../../components/people/rights";
import { mayChange, moveTo, neighbour } from "./queue_moves";

const job = (jobId: string, resourcePool = "default", jobsAhead = 0) => ({
  jobId,
  resourcePool,
  summary: { state: "STATE_QUEUED", jobsAhead },
});
const jobs = [job("a"), job("b"), job("x", "other"), job("c")];

test.each([
  ["c", "a", { jobId: "c", aheadOf: "a" }],
  ["a", "c", { jobId: "a", behindOf: "c" }],
  ["a", "a", undefined],
  ["a", "x", undefined],
  ["a", "gone", undefined],
])("%s to the place of %s is %j", (from, to, expected) => {
  expect(moveTo(jobs, from, to)).toEqual(expected);
});

test("a queue without an order cannot be changed", () => {
  expect(moveTo([job("a", "shared", -1), job("b", "shared", -1)], "b", "a")).toBeUndefined();
});

test("neighbours are those of the same pool", () => {
  expect(neighbour(jobs, "c", -1)).toBe("b");
  expect(neighbour(jobs, "b", 1)).toBe("c");
  expect(neighbour(jobs, "a", -1)).toBeUndefined();
  expect(neighbour(jobs, "c", 1)).toBeUndefined();
  expect(neighbour(jobs, "x", 1)).toBeUndefined();
});

test("without roles everybody changes the place of experiments and of tasks", () => {
  const { may } = rightsOf({ id: 4, username: "ann", admin: false, active: true }, false, undefined);
  const is = (type: string, userId: number) => mayChange({ type, workspaceId: 1, userId }, may);
  expect([is("TYPE_EXPERIMENT", 9), is("TYPE_SHELL", 4), is("TYPE_SHELL", 9)]).toEqual([true, true, true]);
});
