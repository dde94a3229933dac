import { expect, test } from "vitest";
import { changeOf, isEmpty, sizeFields, typedOf } from "./resize";

const config = {
  searcher: { name: "random", max_trials: 8, max_length: { batches: 100 }, max_concurrent_trials: 2 },
  resources: { slots_per_trial: 2, max_slots: 4, priority: 42, weight: 1 },
};
const names = (of: unknown, state: string) => sizeFields(of, state).map(({ name }) => name);

test.each([
  ["a search that runs", config, "STATE_RUNNING", ["maxTrials", "maxLength", "maxConcurrentTrials", "maxSlots", "priority", "weight"]],
  ["a completed one can be extended", config, "STATE_COMPLETED", ["maxTrials", "maxConcurrentTrials"]],
  ["a canceled one not", config, "STATE_CANCELED", []],
  ["halving, whose top moves", { ...config, searcher: { ...config.searcher, name: "adaptive_asha" } }, "STATE_PAUSED", ["maxTrials", "maxLength", "maxConcurrentTrials", "maxSlots", "priority", "weight"]],
  ["halving by a budget", { ...config, searcher: { ...config.searcher, name: "adaptive_simple" } }, "STATE_PAUSED", ["maxLength", "maxSlots", "priority", "weight"]],
  ["a population, whose rounds", { ...config, searcher: { name: "pbt", num_rounds: 4 } }, "STATE_ACTIVE", ["numRounds", "maxSlots", "priority", "weight"]],
  ["a searcher of somebody's own", { ...config, searcher: { name: "custom" } }, "STATE_ACTIVE", ["maxSlots", "priority", "weight"]],
  ["one trial, which is over when it is over", { searcher: { name: "single", max_length: 5 } }, "STATE_COMPLETED", []],
])("%s", (_, of, state, expected) => {
  expect(names(of, state)).toEqual(expected);
});

const fields = sizeFields(config, "STATE_RUNNING");
const typed = typedOf(fields);

test("what was not touched is not sent", () => {
  const change = changeOf(fields, typed);
  expect(change).toEqual({});
  expect(isEmpty(change as object)).toBe(true);
});

test("only what is different is sent, by section; an empty limit is taken away", () => {
  expect(changeOf(fields, { ...typed, maxTrials: "16", maxSlots: " ", weight: "2.5" })).toEqual({
    searcher: { maxTrials: 16 },
    resources: { maxSlots: null, weight: 2.5 },
  });
});

test("of a range of slots, the fewest are the least that the experiment can have", () => {
  const resources = { ...config.resources, slots_per_trial: { min: 3, max: 8, batch: "global", resize_after: 60 } };
  expect(sizeFields({ ...config, resources }, "STATE_RUNNING").find(({ name }) => name === "maxSlots")?.min).toBe(3);
});

test("a length says its unit", () => {
  expect(fields.find(({ name }) => name === "maxLength")?.label).toContain("in batches");
});

test.each([
  [{ maxTrials: "7" }, "Total trials is 7; it must be 8 or more."],
  [{ maxTrials: "8.5" }, "Total trials is “8.5”; it must be a whole number."],
  [{ maxTrials: "" }, "Total trials: enter a number."],
  [{ maxSlots: "1" }, "Maximum slots is 1; it must be 2 or more."],
  [{ priority: "100" }, "Priority is 100; it must be 99 or less."],
])("with %j it says: %s", (some, problem) => {
  expect(changeOf(fields, { ...typed, ...some })).toEqual({ problem });
});
