import { expect, test } from "vitest";
import { chartView } from "../charts/view";
import { blockText, type ChartPanel, panelOf, parseBlock, trialsMax } from "./block";

const view = chartView({ metric: "loss", x: "epochs", log: "1", smooth: "0.6", group: "lr", band: "std" });
const inside = (text: string) => text.replaceAll(/```(chart)?/g, "");

test("a block says what it is written for", () => {
  const text = blockText(panelOf([3, 5], view));
  expect(text).toBe("```chart\ntrials: 3, 5\nmetric: loss\nx: epochs\nlog: true\nsmooth: 0.6\ngroup: lr\nband: std\n```\n");
  expect(parseBlock(inside(text))).toEqual(panelOf([3, 5], view));
  expect(blockText(panelOf([7], chartView({})))).toBe("```chart\ntrials: 7\n```\n");
});

test.each<Partial<ChartPanel>>([
  { trials: [], experiments: "" },
  { trials: [], experiments: 'lr < 1e-3 and name contains "a: b"', newest: 40 },
  { title: "Three: seeds", width: "third" },
  { kind: "parallel", trials: [], experiments: "lr < 1", all: true },
  { view },
  { view: chartView({ logx: "1" }) },
])("what is written is read again: %j", (change) => {
  const panel = { ...panelOf([1], chartView({})), ...change };
  expect(parseBlock(inside(blockText(panel)))).toEqual(panel);
});

test("a title or a filter of several lines becomes one", () => {
  const panel = { ...panelOf([], view), title: "a\n```\nb ", experiments: "lr < 1\nand epochs > 2" };
  expect(parseBlock(inside(blockText(panel)))).toMatchObject({ title: "a b", experiments: "lr < 1 and epochs > 2" });
});

test.each([
  ["metric: loss", "The chart has no trials."],
  ["trials: 1, x", "positive whole numbers"],
  [`trials: ${Array.from({ length: trialsMax + 1 }, (_, i) => i + 1).join()}`, `at most ${trialsMax}`],
  ["trials: 1\nexperiments: lr < 1", "both trials and experiments"],
  ["experiments: lr < 1\nnewest: 0", "“newest: 0”: must be a whole number from 1 to 40."],
  ["trials: all", "positive whole numbers"],
  ["trials: 1\ntype: pie", "“type: pie”: must be one of curves, parallel, scatter, matrix, importance."],
  ["trials: 1\nwidth: wide", "“width: wide”: must be one of full, half, third."],
  ["trials: 1\ncolor: red", "“color: red” is not a line of a chart"],
  ["trials 1", "“trials 1” is not a line of a chart"],
])("a block that cannot be drawn says why: %s", (text, why) => {
  expect(parseBlock(text)).toContain(why);
});
