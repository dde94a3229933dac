import { expect, test } from "vitest";
import { nameProblem, settingsText, usage } from "./template_config";

test.each<[unknown, string]>([
  [{}, ""],
  [{ resources: { slots_per_trial: 2 }, max_restarts: 0 }, "resources.slots_per_trial, max_restarts"],
  [{ a: 1, b: 2, c: 3, d: 4, e: 5, f: { g: 6 } }, "a, b, c, d and 2 more"],
])("the settings of %j", (config, text) => {
  expect(settingsText(config)).toBe(text);
});

test.each<[string, string | undefined]>([
  ["new", undefined],
  [" new ", undefined],
  ["Small", undefined],
  ["  ", "Enter a name."],
  ["small ", "Template small already exists. Open it to edit it."],
])("the name %j beside the template small", (name, problem) => {
  expect(nameProblem(name, ["small"])).toBe(problem);
});

test.each([
  ["small-gpu", "det experiment create const.yaml . --template small-gpu"],
  ["two words", "det experiment create const.yaml . --template 'two words'"],
  ["it's", String.raw`det experiment create const.yaml . --template 'it'\''s'`],
])("%s is used as one word of a shell", (name, command) => {
  expect(usage(name)).toBe(command);
});
