import { expect, test } from "vitest";
import { comparedIds } from "./compared";

test.each([
  ["", []],
  ["3,1", [3, 1]],
  ["3, 1,x,3,#7,0,-2,1.5", [3, 1, 7]],
  ["1,2,3,4,5,6", [1, 2, 3, 4, 5]],
])("%j names the trials %j", (text, expected) => {
  expect(comparedIds(text, 5)).toEqual(expected);
});
