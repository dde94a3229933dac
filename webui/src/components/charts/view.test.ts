import { expect, test } from "vitest";
import { blockOf, chartView, parseBlock } from "./view";

test("what an address does not say is as usual", () => {
  expect(chartView({})).toEqual({ metric: "", axis: "batches", log: false, smooth: 0, group: "", band: "min–max" });
  expect(chartView({ x: "nonsense", smooth: "7", band: "wide" })).toEqual(chartView({}));
  expect(chartView({ x: "wall time", smooth: "0.9", log: "1", band: "std" })).toMatchObject({ axis: "wall time", smooth: 0.9, log: true, band: "std" });
});

test("a block says what it is written for", () => {
  const view = chartView({ metric: "loss", x: "epochs", log: "1", smooth: "0.6", group: "lr", band: "std" });
  const text = blockOf([3, 5], view);
  expect(text).toBe("```chart\ntrials: 3, 5\nmetric: loss\nx: epochs\nlog: true\nsmooth: 0.6\ngroup: lr\nband: std\n```\n");
  expect(parseBlock(text.replaceAll(/```(chart)?/g, ""), 40)).toEqual({ title: "", trials: [3, 5], view });
  expect(blockOf([7], chartView({}))).toBe("```chart\ntrials: 7\n```\n");
});

test.each([
  ["metric: loss", "The chart has no trials."],
  ["trials: 1, x", "positive whole numbers"],
  ["trials: 1, 2, 3", "at most 2"],
  ["trials: 1\ncolor: red", "“color: red” is not a line of a chart"],
  ["trials 1", "“trials 1” is not a line of a chart"],
])("a block that cannot be drawn says why: %s", (text, why) => {
  expect(parseBlock(text, 2)).toContain(why);
});
