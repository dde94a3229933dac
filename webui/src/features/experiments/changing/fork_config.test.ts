import { expect, test } from "vitest";
import { continuedConfig, forkedConfig } from "./fork_config";

const text = "name: my net\nsearcher:\n    name: single\n    metric: loss\nentrypoint: m:T\n";

test("a fork says so in its name, once, and is else the same text", () => {
  const fork = forkedConfig(text);
  expect(fork).toBe(text.replace("my net", "Fork of my net"));
  expect(forkedConfig(fork)).toBe(fork);
});

test.each(["searcher: {}\n", "name: 'a # b'\n", "name: &x a\n", ""])("%j stays as it is", (config) => {
  expect(forkedConfig(config)).toBe(config);
});

test("to continue, the searcher names the trial, indented as the rest", () => {
  expect(continuedConfig(text, 7)).toBe(
    "name: Fork of my net\nsearcher:\n    source_trial_id: 7\n    name: single\n    metric: loss\nentrypoint: m:T\n",
  );
});

test("an earlier start is replaced", () => {
  const twice = continuedConfig(continuedConfig(text, 7), 8);
  expect(twice).toContain("source_trial_id: 8");
  expect(twice).not.toContain("source_trial_id: 7");
});

test("a searcher that is no block gets a remark instead of a guess", () => {
  expect(continuedConfig("searcher: {name: single}\n", 3)).toBe(
    "# add to the searcher: source_trial_id: 3\nsearcher: {name: single}\n",
  );
});
