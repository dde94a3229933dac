import { expect, test } from "vitest";
import { colourOf, fraction, quality, searchedAs, space, valueAt } from "./hyperparameters";
import { explained, groups, importances, ranks } from "./importance";

const trial = (id: number, hparams: Record<string, unknown>, searcherMetricValue: number | string | null) => ({
  id,
  hparams,
  searcherMetricValue,
});

test("only hyperparameters that differ are dimensions; a trial without a finite metric is no point", () => {
  const made = space([
    trial(1, { lr: 0.1, size: 8, act: "relu" }, 0.5),
    trial(2, { lr: 0.001, size: 8, act: "tanh" }, 0.4),
    trial(3, { lr: 0.5, size: 9, act: "elu" }, "NaN"),
    trial(4, { lr: 0.6, size: 9, act: "elu" }, null),
  ]);
  expect(made.dimensions).toEqual([
    { name: "act", kind: "category", log: false, categories: ["relu", "tanh"], min: 0, max: 1 },
    { name: "lr", kind: "number", log: true, categories: [], min: 0.001, max: 0.1 },
  ]);
  expect(made.points.map(({ trialId, values }) => [trialId, values])).toEqual([
    [1, [0, 0.1]],
    [2, [1, 0.001]],
  ]);
});

test.each([
  ["double", 0.001, false],
  ["int", 1, false],
  ["log", 0.05, true],
  ["categorical", 0.001, true],
  ["categorical", 0.05, false],
])("a hyperparameter searched as %s, from %d to 0.1 or more, is drawn logarithmically: %s", (type, min, expected) => {
  const config = { hyperparameters: { net: { lr: { type } } } };
  const made = space([trial(1, { net: { lr: min } }, 1), trial(2, { net: { lr: min === 1 ? 100 : 0.1 } }, 2)], config);
  expect(made.dimensions[0]?.log).toBe(expected);
});

test("how a hyperparameter is searched is in the configuration, by its name", () => {
  const config = { hyperparameters: { lr: { type: "log" }, net: { width: { type: "int" } }, seed: 3 } };
  expect(["lr", "net.width", "seed", "net", "other"].map((name) => searchedAs(config, name))).toEqual(["log", "int", undefined, undefined, undefined]);
  expect(searchedAs(undefined, "lr")).toBeUndefined();
});

test("a hyperparameter that a trial lacks has no value there", () => {
  const made = space([trial(1, { a: { b: 1 } }, 1), trial(2, { a: { b: 2 } }, 2), trial(3, {}, 3)]);
  expect(made.dimensions.map(({ name }) => name)).toEqual(["a.b"]);
  expect(made.points[2]?.values).toEqual([undefined]);
});

test("null among numbers is no value, and a value among names", () => {
  const made = space([trial(1, { dropout: null, act: null }, 1), trial(2, { dropout: 0.1, act: "relu" }, 2), trial(3, { dropout: 0.5, act: "relu" }, 3)]);
  expect(made.dimensions.map(({ name, kind, categories }) => [name, kind, categories])).toEqual([
    ["act", "category", ["null", "relu"]],
    ["dropout", "number", []],
  ]);
  expect(made.points.map(({ values }) => values)).toEqual([
    [0, undefined],
    [1, 0.1],
    [1, 0.5],
  ]);
});

test("of values that are maps of different names each name is a dimension", () => {
  const made = space([trial(1, { optimizer: { sgd: { momentum: 0.9 } } }, 1), trial(2, { optimizer: { adam: "usual" } }, 2)]);
  expect(made.dimensions.map(({ name }) => name)).toEqual(["optimizer.adam", "optimizer.sgd.momentum"]);
  expect(made.points.map(({ values }) => values)).toEqual([
    [undefined, 0.9],
    [0, undefined],
  ]);
});

test.each([
  [{ min: 0, max: 10, log: false }, 2.5, 0.25],
  [{ min: 0.001, max: 0.1, log: true }, 0.01, 0.5],
  [{ min: 3, max: 3, log: false }, 3, 0.5],
])("in %j, %d is at %d", (dimension, value, part) => {
  expect(fraction(dimension, value)).toBeCloseTo(part);
  expect(valueAt(dimension, part)).toBeCloseTo(value);
});

test("quality is the rank, whichever way is better", () => {
  expect(quality([3, 1, 2, 1], true)).toEqual([1, 0, 0.5, 0]);
  expect(quality([3, 1, 2], false)).toEqual([0, 1, 0.5]);
  expect(quality([7], true)).toEqual([0]);
});

test("colours go from best to worst and stay within", () => {
  expect(colourOf(0)).toBe("rgb(48, 105, 222)");
  expect(colourOf(1)).toBe("rgb(214, 96, 44)");
  expect(colourOf(-1)).toBe(colourOf(0));
  expect(colourOf(2)).toBe(colourOf(1));
});

test("equal values share their middle rank", () => {
  expect(ranks([10, 30, 10, 20])).toEqual([0.5, 3, 0.5, 2]);
});

test("groups are equally large and never split equal values", () => {
  expect(groups([1, 2, 3, 4, 5, 6, 7, 8], 4)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  expect(new Set(groups([1, 1, 1, 1, 2, 3], 3).slice(0, 4)).size).toBe(1);
  expect(groups([5, 5, 5, 5], 4)).toEqual([0, 0, 0, 0]);
});

test("groups that say all explain 1, groups that say nothing explain 0", () => {
  expect(explained([1, 1, 2, 2], [0, 0, 1, 1])).toBe(1);
  expect(explained([1, 2, 1, 2], [0, 0, 1, 1])).toBe(0);
  expect(explained([1, 1, 1], [0, 1, 1])).toBe(0);
});

test("what decides the metric is important, noise is not, best in the middle counts", () => {
  const trials = Array.from({ length: 40 }, (_, i) => {
    const x = i / 39;
    const noise = ((i * 7919) % 101) / 101;
    return trial(i + 1, { x, noise, kind: i % 2 === 0 ? "a" : "b" }, (x - 0.5) ** 2);
  });
  const [first, ...others] = importances(space(trials));
  expect(first?.name).toBe("x");
  expect(first?.value).toBeGreaterThan(0.7);
  for (const other of others) expect(other.value).toBeLessThan(0.2);
});

test("too few trials say nothing", () => {
  expect(importances(space([trial(1, { x: 1 }, 1), trial(2, { x: 2 }, 2)]))).toEqual([]);
});
