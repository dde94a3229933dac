import { expect, test } from "vitest";
import type { TrialEnvironments } from "../../api/types";
import { exactness, isClass } from "./exactness";
import type { Run } from "./runs";

const run = (number: number, some: Partial<Run> = {}): Run => ({
  run: number,
  started: undefined,
  agent: undefined,
  from: undefined,
  saidFrom: undefined,
  lastBatch: 0,
  checkpoints: 0,
  ...some,
});
type Environment = TrialEnvironments["environments"][number]["environment"];
const ranIn = (...list: readonly (readonly [Environment, ...number[]])[]): TrialEnvironments => ({
  environments: list.map(([environment, ...runs]) => ({ environment, found: runs.map((runId) => ({ runId, rank: 0 })) })),
  seeds: { trial: 17 },
  git: {},
});
const exact: Environment = { versions: { torch: "2.11" }, switches: { deterministic_algorithms: true }, hardware: { hostname: "a" } };
const went = { from: { uuid: "c1", batches: 80 }, saidFrom: 80 };
const verdicts = (runs: readonly Run[], of: TrialEnvironments) => exactness(runs, of, true).map(({ holds }) => holds);

test("a run that goes on where it was saved, in the same environment, is exact", () => {
  const checks = exactness([run(1), run(2, went)], ranIn([exact, 1, 2]), true);
  expect(checks.map(({ holds }) => holds)).toEqual([true, true, true, true]);
  expect(checks[0]?.text).toContain("resumed after batch 80, where checkpoint c1 was saved");
  expect(checks.at(-1)?.text).toContain("seed 17");
});

test("another number of slots is not exact", () => {
  expect(verdicts([run(1, { slots: 2 }), run(2, { ...went, slots: 2 })], ranIn([exact, 1, 2]))).toEqual([true, true, true, true]);
  const checks = exactness([run(1, { slots: 2 }), run(2, { ...went, slots: 1 })], ranIn([exact, 1, 2]), true);
  expect(checks[2]).toEqual({ holds: false, text: "The runs had 2, then 1 slots. Each batch has the same records; metrics may differ by rounding." });
});

test("another host with the same processor changes nothing, another version does, and is named", () => {
  const elsewhere = { ...exact, hardware: { hostname: "b" } };
  expect(verdicts([run(1), run(2, went)], ranIn([elsewhere, 2], [exact, 1]))).toEqual([true, true, true, true]);
  const newer = { ...exact, versions: { torch: "2.12" } };
  const checks = exactness([run(1), run(2, went)], ranIn([newer, 2], [exact, 1]), true);
  expect(checks[1]).toEqual({ holds: false, text: "The runs differ in versions.torch (2.11, then 2.12). Metrics may differ from there on." });
});

test("packages are compared by name: a changed version counts, one that came may not matter, many are not all listed", () => {
  const runs = [run(1), run(2, went)];
  const before = { ...exact, packages: ["torch==1", "mine @ file:///a"] };
  const check = (packages: readonly string[]) => exactness(runs, ranIn([{ ...exact, packages }, 2], [before, 1]), true)[1];
  expect(check(["torch==2", "mine @ file:///a"])).toEqual({ holds: false, text: "The runs differ in package torch (1, then 2). Metrics may differ from there on." });
  expect(check(["torch==1", "mine @ file:///a", "flask==3"])).toEqual({
    holds: undefined,
    text: "Packages were added or removed between the runs, which matters only if the trial uses them: flask.",
  });
  expect(check([..."abcdefgh"].map((name) => `${name}==1`))?.text).toContain("and 4 more");
});

test("what is not known is not claimed", () => {
  expect(verdicts([run(1), run(2, { from: went.from })], ranIn([{}, 1]))).toEqual([undefined, undefined, undefined, true]);
  expect(verdicts([run(1)], ranIn())).toEqual([undefined, undefined, true]);
});

test("a run that goes on where nothing was saved, and switches that are off, do not hold", () => {
  const loose = { ...exact, switches: { deterministic_algorithms: false } };
  expect(verdicts([run(1), run(2, { saidFrom: 33 })], ranIn([loose, 1, 2]))).toEqual([false, true, false, true]);
});

test("a run that found no checkpoint begins again, which is exact", () => {
  expect(exactness([run(1), run(2)], ranIn([exact, 1, 2]), true)[0]).toEqual({ holds: true, text: "Run 2 started from the beginning, because no checkpoint had been saved." });
  expect(exactness([], ranIn(), true)).toEqual([]);
});

test("the states of the generators are claimed of the loop's checkpoints only", () => {
  const last = (runs: readonly Run[], ofClass: boolean) => exactness(runs, ranIn([exact, 1, 2]), ofClass).at(-1);
  expect(last([run(1, { checkpoints: 1 }), run(2, went)], true)?.text).toContain("are saved in checkpoints");
  expect(last([run(1), run(2)], true)).toEqual({ holds: true, text: "Every run uses the trial seed 17; no checkpoint was saved." });
  expect(last([run(1, { checkpoints: 1 }), run(2, went)], false)?.holds).toBeUndefined();
});

test.each([
  ["model_def:MnistTrial", true],
  ["src/my-model.cpp:MnistTrial", true],
  ["python3 train.py", false],
  ["python3 -m determined.launch.torch_distributed python3 train.py", false],
  ["python3 train.py --at http://x:1", false],
  ["./train", false],
  [undefined, false],
])("whether the loop trains %j: %s", (entrypoint, expected) => {
  expect(isClass(entrypoint)).toBe(expected);
});
