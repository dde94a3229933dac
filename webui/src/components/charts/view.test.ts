import { expect, test } from "vitest";
import { chartView } from "./view";

test("what an address does not say is as usual", () => {
  expect(chartView({})).toEqual({ metric: "", axis: "batches", log: false, logX: false, smooth: 0, group: "", band: "min–max" });
  expect(chartView({ x: "nonsense", smooth: "7", band: "wide" })).toEqual(chartView({}));
  expect(chartView({ x: "wall time", smooth: "0.9", log: "1", logx: "false", band: "std" })).toMatchObject({ axis: "wall time", smooth: 0.9, log: true, logX: false, band: "std" });
});
