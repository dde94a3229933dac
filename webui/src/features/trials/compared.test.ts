import { expect, test } from "vitest";
import { comparedIds, configurationRows, differences } from "./compared";

test.each([
  ["", []],
  ["3,1", [3, 1]],
  ["3, 1,x,3,#7,0,-2,1.5", [3, 1, 7]],
  ["1,2,3,4,5,6", [1, 2, 3, 4, 5]],
])("%j names the trials %j", (text, expected) => {
  expect(comparedIds(text, 5)).toEqual(expected);
});

test("only names with different values are differences, and what is missing is one", () => {
  expect(differences([[["a", "1"], ["b", "2"]], [["a", "1"], ["b", "3"]], [["a", "1"], ["c", "4"]]])).toEqual([
    { name: "b", values: ["2", "3", undefined] },
    { name: "c", values: [undefined, undefined, "4"] },
  ]);
  expect(differences([[["a", "1"]]])).toEqual([]);
});

test("configurations are compared without what names an experiment", () => {
  const config = { name: "mnist", labels: ["a"], hyperparameters: { lr: 1 }, searcher: { name: "random", max_trials: 4 } };
  expect(configurationRows(config)).toEqual([["searcher.name", "random"], ["searcher.max_trials", "4"]]);
});
