import { expect, test } from "vitest";
import type { Experiment } from "../../api/types";
import { actions } from "./actions";
import { merge, parseSearch } from "./search";

test.each([
  ["", { text: "" }],
  ["  mnist ", { text: "mnist" }],
  ["12", { id: 12, text: "12" }],
  ["#12", { id: 12, text: "12" }],
  ["0", { text: "0" }],
  ["1.5", { text: "1.5" }],
  ["12 layers", { text: "12 layers" }],
])("searching %j asks for %j", (text, expected) => {
  expect(parseSearch(text)).toEqual(expected);
});

test.each([
  ["STATE_RUNNING", ["pause", "cancel", "kill"]],
  ["STATE_ACTIVE", ["pause", "cancel", "kill"]],
  ["STATE_QUEUED", ["pause", "cancel", "kill"]],
  ["STATE_PAUSED", ["activate", "cancel", "kill"]],
  ["STATE_STOPPING_CANCELED", ["kill"]],
  ["STATE_COMPLETED", []],
  ["STATE_CANCELED", []],
  ["STATE_ERROR", []],
  ["STATE_DELETING", []],
])("in %s one may %j", (state, expected) => {
  expect(actions(state)).toEqual(expected);
});

test("each experiment is listed once, newest first", () => {
  const one = (id: number, name: string) => ({ id, name }) as Experiment;
  expect(merge([one(1, "a"), one(3, "c")], [one(2, "b"), one(3, "newer")])).toEqual([one(3, "newer"), one(2, "b"), one(1, "a")]);
  expect(merge()).toEqual([]);
});
