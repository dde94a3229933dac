import { expect, test } from "vitest";
import { passwordProblem } from "./password";

test.each([
  ["", "", "The password is empty."],
  ["a", "b", "The two are not the same."],
  ["a", "", "The two are not the same."],
  ["a", "a", ""],
])("the password %j, then %j, has the problem %j", (password, again, expected) => {
  expect(passwordProblem(password, again)).toBe(expected);
});
