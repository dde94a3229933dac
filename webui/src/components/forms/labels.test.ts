import { expect, test } from "vitest";
import { labelsOf, labelsText } from "./labels";

test.each([
  [[], ""],
  [["vision", "first try"], "vision, first try"],
  [["lr, momentum", "x"], '"lr, momentum", x'],
  [['"quoted"'], '"""quoted"""'],
  [['say "hi", then go'], '"say ""hi"", then go"'],
  [['5" disk'], '5" disk'],
])("the labels %j are edited as %s, and stay what they are", (labels, text) => {
  expect(labelsText(labels)).toBe(text);
  expect(labelsOf(text)).toEqual(labels);
});

test.each([
  [" a ,, b,", ["a", "b"]],
  ["a, a", ["a"]],
  ['"a, b"', ["a, b"]],
  ['"a, b', ['"a', "b"]],
])("%s are the labels %j", (text, labels) => {
  expect(labelsOf(text)).toEqual(labels);
});
