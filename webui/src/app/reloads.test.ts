import { expect, test } from "vitest";
import { reloads } from "./reloads";

test.each([
  ["Failed to fetch dynamically imported module: http://m/det/assets/x.js", 0, true],
  ["error loading dynamically imported module: http://m/det/assets/x.js", 0, true],
  ["Importing a module script failed.", 0, true],
  ["Failed to fetch dynamically imported module: http://m/det/assets/x.js", 90_000, false],
  ["x is undefined", 0, false],
])("after %j, last loaded again at %d, the page loads again by itself: %s", (text, last, expected) => {
  expect(reloads(new TypeError(text), last, 100_000)).toBe(expected);
});
