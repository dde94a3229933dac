import { expect, test } from "vitest";
import { differing, groupingsOf } from "./groupings";

const trial = (id: number, experimentId: number, hparams: Record<string, unknown>) => ({ id, experimentId, hparams });

test("trials are put together by experiment, or by a hyperparameter in which they differ", () => {
  const made = groupingsOf([trial(1, 7, { lr: 0.1, net: { width: 8 }, batch: 4 }), trial(2, 8, { lr: 0.1, net: { width: 16 }, batch: 4 })]);
  expect(made.get("net.width")).toEqual(new Map([[1, "8"], [2, "16"]]));
  expect(differing(made)).toEqual(["experiment", "net.width"]);
  expect(differing(groupingsOf([trial(1, 7, { lr: 1 }), trial(2, 7, { lr: 1 })]))).toEqual([]);
});
