import { expect, test } from "vitest";
import { passwordProblem } from "./password";

test.each([
  ["", "", "Enter a password."],
  ["a", "b", "The passwords do not match."],
  ["a", "", "The passwords do not match."],
  ["a", "a", ""],
])("the password %j, then %j, has the problem %j", (password, again, expected) => {
  expect(passwordProblem(password, again)).toBe(expected);
});
