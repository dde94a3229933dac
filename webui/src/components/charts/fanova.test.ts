import { expect, test } from "vitest";
import { fanova, partsOfVariance } from "./fanova";
import { space } from "./hyperparameters";

/** The generator of the C standard, so that other programs can draw the same trials. */
function drawn(): () => number {
  let state = 7n;
  return () => {
    state = (state * 1103515245n + 12345n) % 2n ** 31n;
    return Number(state) / 2 ** 31;
  };
}

type Metric = (a: number, b: number, c: string, d: number) => number;

/** Trials over a, b and d in [0, 1], the latter of a logarithm, and c of three. The first two are the corners. */
function trials(metric: Metric, count: number) {
  const next = drawn();
  return (cases: number) =>
    Array.from({ length: cases }, (_, index) => {
      let [a, b] = [next(), next()];
      const c = ["x", "y", "z"][Math.floor(next() * 3)] ?? "x";
      let d = next();
      if (index < 2) a = b = d = index;
      return { id: index, hparams: { a, b, c, d: 10 ** (4 * (d - 1)) }, searcherMetricValue: metric(a, b, c, d) };
    }).slice(0, count);
}

const config = { hyperparameters: { d: { type: "log" } } };
const [sum, product, valley]: readonly Metric[] = [
  (a, b, c) => 3 * a + b * b + (c === "x" ? 1 : 0),
  (a, b, _c, d) => (2 * a - 1) * (2 * b - 1) + 0.3 * d,
  (a, _b, _c, d) => Math.abs(d - 0.5) * 4 + a * 0.5,
] as const;

// What FanovaImportanceEvaluator(seed=0) of Optuna 5.0 gives for the first of these, without normalizing.
test("agrees with Optuna's fANOVA on the same trials", () => {
  const { alone } = fanova(space(trials(sum as Metric, 200)(200), config));
  const expected: Readonly<Record<string, number>> = { a: 0.697, c: 0.205, b: 0.05, d: 0 };
  expect(alone.map(({ name }) => name)).toEqual(["a", "c", "b", "d"]);
  for (const { name, value } of alone) expect(Math.abs(value - (expected[name] ?? 0)), name).toBeLessThan(0.04);
});

test("what two explain only together is told apart", () => {
  const { alone, together } = fanova(space(trials(product as Metric, 200)(200), config));
  expect(together).toBeGreaterThan(0.4);
  expect(Math.max(...alone.map(({ value }) => value))).toBeLessThan(0.35);
});

test("a best value in the middle is seen", () => {
  const { alone } = fanova(space(trials(valley as Metric, 60)(60), config));
  expect(alone[0]?.name).toBe("d");
  expect(alone[0]?.value).toBeGreaterThan(0.75);
});

test("parts of a known function are exact where the trees are", () => {
  const grid = [0, 1].flatMap((c) => [0, 1].flatMap((d) => Array.from({ length: 40 }, () => ({ at: [c, d], metric: 2 * c + d }))));
  const [c, d] = partsOfVariance(grid, [2, 2]);
  expect(c).toBeCloseTo(0.8, 6);
  expect(d).toBeCloseTo(0.2, 6);
});

test("the same trials give the same numbers, and ten thousand of them in a moment", () => {
  const many = space(trials(sum as Metric, 10_000)(10_000), config);
  expect(fanova(many)).toEqual(fanova(many));
});

test("too few trials, or all the same, explain nothing", () => {
  expect(fanova(space(trials(sum as Metric, 5)(5), config)).alone).toEqual([]);
  const { alone, together } = fanova(space(trials(() => 1, 30)(30), config));
  expect([...alone.map(({ value }) => value), together]).toEqual([0, 0, 0, 0, 0]);
});

test("what some trials do not have is left out and named", () => {
  const all = trials(sum as Metric, 30)(30);
  const some = all.map((trial, index) => (index % 2 ? trial : { ...trial, hparams: { a: trial.hparams.a, c: trial.hparams.c } }));
  const { alone, partial } = fanova(space(some, config));
  expect(alone.map(({ name }) => name)).toEqual(["a", "c"]);
  expect(partial).toEqual(["b", "d"]);
});
