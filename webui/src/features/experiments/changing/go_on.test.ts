import { expect, test } from "vitest";
import { canGoOn, usualOverride } from "./go_on";

test.each([
  ["STATE_COMPLETED", "single", false, true],
  ["STATE_ERROR", "single", false, true],
  ["STATE_CANCELED", "single", false, true],
  ["STATE_RUNNING", "single", false, false],
  ["STATE_DELETED", "single", false, false],
  ["STATE_COMPLETED", "random", false, true],
  ["STATE_COMPLETED", "adaptive_simple", false, false],
  ["STATE_CANCELED", "adaptive_simple", false, true],
  ["STATE_ERROR", "adaptive_asha", false, true],
  ["STATE_CANCELED", "custom", false, false],
  ["STATE_CANCELED", "pbt", false, false],
  ["STATE_COMPLETED", "single", true, false],
])("in %s a %s experiment (unmanaged: %s) goes on: %s", (state, searcherType, unmanaged, expected) => {
  expect(canGoOn({ state, searcherType, unmanaged })).toBe(expected);
});

test.each([
  [{ searcher: { max_length: { batches: 300 } } }, "STATE_COMPLETED", "searcher:\n  max_length:\n    batches: 600\n"],
  [{ searcher: { max_length: 10 } }, "STATE_COMPLETED", "searcher:\n  max_length: 20\n"],
  [{ searcher: { max_length: { batches: 300 } } }, "STATE_ERROR", "{}\n"],
  [{ searcher: {} }, "STATE_COMPLETED", "{}\n"],
])("of %j in %s it proposes %j", (config, state, text) => {
  expect(usualOverride(config, state)).toBe(text);
});

test("a search that goes on keeps its length", () => {
  expect(usualOverride({ searcher: { max_length: 10 } }, "STATE_COMPLETED", "random")).toBe("{}\n");
});
