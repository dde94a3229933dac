import { expect, test } from "vitest";
import { extraTitle, extraValue, type Listed, vocabularyOf } from "./extra_columns";

const experiment = {
  labels: ["baseline"],
  hyperparameters: {
    lr: { type: "log", base: 10, minval: -4, maxval: -1 },
    global_batch_size: { type: "const", val: 64 },
    optimizer: { name: { type: "const", val: "adam" }, momentum: { type: "double", minval: 0, maxval: 1 } },
  },
  bestTrial: {
    hparams: { lr: 0.01, global_batch_size: 64, optimizer: { name: "adam", momentum: 0.9 } },
    summaryMetrics: { avg_metrics: { loss: { last: 0.5, min: 0.4 } }, validation_metrics: { "val/loss.x": { last: 0.3, min: 0.2 } }, gpu: { use: { max: 1 } } },
  },
} as unknown as Listed;

test.each([
  ["hp.lr", 0.01],
  ["hp.global_batch_size", 64],
  ["hp.optimizer.name", "adam"],
  ["hp.optimizer.momentum", 0.9],
  ["hp.nothing", undefined],
  ["training.loss.min", 0.4],
  ["validation.val/loss.x.last", 0.3],
  ["gpu.use.max", 1],
  ["validation.loss.min", undefined],
])("%s is %s", (id, expected) => {
  expect(extraValue(experiment, id)).toBe(expected);
  expect(extraValue({ ...experiment, bestTrial: undefined }, id)).toBe(["hp.global_batch_size", "hp.optimizer.name"].includes(id) ? expected : undefined);
});

test("titles are short", () => {
  expect(["hp.optimizer.lr", "validation.loss.min", "training.loss.last"].map(extraTitle)).toEqual(["optimizer.lr", "loss, min", "training loss, last"]);
});

test("what there is can be chosen", () => {
  const known = vocabularyOf([experiment], ["ada"]);
  expect(known.hyperparameters).toEqual(["global_batch_size", "lr", "optimizer.momentum", "optimizer.name"]);
  expect(known.metrics).toContain("validation.val/loss.x.min");
  expect(known.metrics).toContain("training.loss.last");
  expect(known.labels).toEqual(["baseline"]);
});
