import { expect, test } from "vitest";
import { space } from "../charts/hyperparameters";
import { grid } from "./heat_cells";

const trials = (list: readonly (readonly [unknown, unknown, number])[]) =>
  space(list.map(([a, b, metric], i) => ({ id: i + 1, hparams: { a, b }, searcherMetricValue: metric })));

test("few values have a cell each, with the best metric and the number of trials", () => {
  const made = grid(trials([[1, "x", 0.5], [1, "x", 0.4], [2, "y", 0.3]]), 0, 1, true);
  expect(made).toEqual({
    columns: ["1", "2"],
    rows: ["x", "y"],
    cells: [
      { column: 0, row: 0, trials: 2, best: 0.4 },
      { column: 1, row: 1, trials: 1, best: 0.3 },
    ],
  });
  expect(grid(trials([[1, "x", 0.5], [1, "x", 0.4], [2, "y", 0.3]]), 0, 1, false).cells[0]?.best).toBe(0.5);
});

test("many values share eight cells, the least and the greatest within them", () => {
  const made = grid(trials(Array.from({ length: 20 }, (_, i) => [i, i % 2, i] as const)), 0, 1, true);
  expect(made.columns).toHaveLength(8);
  const columns = made.cells.map(({ column }) => column);
  expect(Math.min(...columns)).toBe(0);
  expect(Math.max(...columns)).toBe(7);
  expect(made.cells.reduce((sum, cell) => sum + cell.trials, 0)).toBe(20);
});

test("a dimension that is not there gives nothing", () => {
  expect(grid(trials([[1, 2, 3]]), 0, 5, true).cells).toEqual([]);
});
