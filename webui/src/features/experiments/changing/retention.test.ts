import { expect, test } from "vitest";
import { keptText, type Wish, wishOf } from "./retention";

test.each([
  [-1, false, "until the experiment is deleted"],
  [-1, true, "until the experiment is deleted"],
  [30, false, "30 days after the end"],
  [1, false, "1 day after the end"],
  [12, true, "12 more days"],
  [1, true, "1 more day"],
  [0, true, "until the next log cleanup"],
  [0, false, "until the first log cleanup after the trial ends"],
])("%i days, ended: %s", (days, ended, text) => {
  expect(keptText(days, ended)).toBe(text);
});

test.each<[boolean, string, Wish | "problem"]>([
  [true, "", { days: -1 }],
  [true, "5", { days: -1 }],
  [false, "0", { days: 0 }],
  [false, " 30 ", { days: 30 }],
  [false, "32767", { days: 32767 }],
  [false, "32768", "problem"],
  [false, "", "problem"],
  [false, "-1", "problem"],
  [false, "1.5", "problem"],
  [false, "1e2", "problem"],
])("for ever: %s, typed %j", (always, typed, wish) => {
  const got = wishOf(always, typed);
  if (wish === "problem") expect(got).toHaveProperty("problem");
  else expect(got).toEqual(wish);
});
