import { expect, test } from "vitest";
import { complete, completed, isExpression, offered, type Vocabulary, wholeExpression } from "./expression";

test.each([
  ["mnist", false],
  ["fashion mnist 12", false],
  ["lr<1", true],
  ["state = RUNNING", true],
  ["no experiment is called like this and that", false],
  ["name contains mnist", true],
  ["lr is empty", true],
  ["andrea", false],
])("%s is an expression: %s", (text, expected) => {
  expect(isExpression(text)).toBe(expected);
});

test("all filters of an address become one expression", () => {
  expect(wholeExpression({})).toBe("");
  expect(wholeExpression({ filter: "lr < 1 or lr > 2" })).toBe("lr < 1 or lr > 2");
  expect(wholeExpression({ filter: "lr < 1 or lr > 2", state: "paused", user: "ada", label: "my label", archived: "all" })).toBe(
    '(lr < 1 or lr > 2) and state in (PAUSED) and user = ada and label = "my label" and archived in (yes, no)',
  );
  expect(wholeExpression({ search: "fashion  #12", archived: "yes" })).toBe('"fashion" and "#12" and archived = yes');
});

const known: Vocabulary = { hyperparameters: ["lr", "layer size", "momentum"], metrics: ["validation.loss.min"], users: ["ada", "bob"], labels: ["baseline", "my label"] };
const at = (text: string) => complete(text.replace("|", ""), text.includes("|") ? text.indexOf("|") : text.length, known).options;

test.each([
  ["", ["state", "user", "label"]],
  ["st", ["state", "started"]],
  ["l", ["label", "lr"]],
  ["lay", ["`layer size`"]],
  ["val", ["validation.loss.min"]],
  ["state ", ["=", "!=", "<"]],
  ["state = ", ["ACTIVE", "RUNNING"]],
  ["state = run", ["RUNNING"]],
  ["user = ", ["me", "ada", "bob"]],
  ["user = b", ["bob"]],
  ["label = my", ['"my label"']],
  ["state in (", ["ACTIVE", "RUNNING"]],
  ["state in (RUNNING, pau", ["PAUSED"]],
  ["lr < 1 ", ["and", "or"]],
  ["lr < 1 and mo", ["momentum"]],
  ["(", ["state", "user"]],
  ["lr < 1 or (st", ["state", "started"]],
  ["started > ", ["1h", "1d"]],
  ["archived = ", ["yes", "no"]],
  ["mo| < 1", ["momentum"]],
] as const)("after %s come first %j", (text, expected) => {
  expect(at(text).slice(0, expected.length)).toEqual(expected);
});

test.each([
  ["", true],
  ["st", true],
  ["state ", true],
  ["lr ", true],
  ["lr = 1 a", true],
  ["mnist", false],
  ["mnist st", false],
  ["fashion mnist ", false],
])("while %j is typed, something is offered: %s", (text, expected) => {
  expect(offered(text, complete(text, text.length, known), known).length > 0).toBe(expected);
});

test("nothing is offered where anything could be typed", () => {
  expect(at("lr < ")).toEqual([]);
  expect(at("name = fash")).toEqual([]);
});

test("an option replaces what was typed of it", () => {
  const text = "lr < 1 and mo > 2";
  const choice = complete(text, "lr < 1 and mo".length, known);
  expect(completed(text, choice, "momentum")).toEqual({ text: "lr < 1 and momentum > 2", cursor: "lr < 1 and momentum".length });
  expect(completed("state i", complete("state i", 7, known), "in (")).toEqual({ text: "state in (", cursor: 10 });
  expect(completed("st", complete("st", 2, known), "state")).toEqual({ text: "state ", cursor: 6 });
});
