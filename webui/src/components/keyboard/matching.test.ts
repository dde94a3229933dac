import { expect, test } from "vitest";
import { found, numberIn } from "./matching";

const commands = [
  { name: "Dashboard" },
  { name: "Experiments" },
  { name: "Job queue", words: "waiting order" },
  { name: "Audit log" },
  { name: "Dark theme", words: "colors" },
];

test.each<[typed: string, names: readonly string[]]>([
  ["", ["Dashboard", "Experiments", "Job queue", "Audit log", "Dark theme"]],
  ["  ", ["Dashboard", "Experiments", "Job queue", "Audit log", "Dark theme"]],
  ["da", ["Dashboard", "Dark theme"]],
  ["QUEUE", ["Job queue"]],
  ["theme dark", ["Dark theme"]],
  ["waiting", ["Job queue"]],
  ["color", ["Dark theme"]],
  ["log", ["Audit log"]],
  ["me", ["Experiments", "Dark theme"]],
  ["dark queue", []],
])("%j finds %j", (typed, names) => {
  expect(found(commands, typed).map(({ name }) => name)).toEqual(names);
});

test.each([
  ["12", 12],
  ["#12", 12],
  [" 7 ", 7],
  ["", undefined],
  ["x1", undefined],
  ["1.5", undefined],
  ["1234567890123456", undefined],
])("%j as a number is %j", (typed, number) => {
  expect(numberIn(typed)).toBe(number);
});
