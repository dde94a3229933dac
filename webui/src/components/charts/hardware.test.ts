import { expect, test } from "vitest";
import type { MetricReport } from "../../api/types";
import { hardwareCharts } from "./hardware";

const report = (group: string, seconds: number, measured: Readonly<Record<string, unknown>>): MetricReport => ({
  trialId: 7,
  trialRunId: 1,
  endTime: new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString(),
  totalBatches: 1_767_225_600 + seconds,
  group,
  metrics: { avg_metrics: measured },
});

test("what machines and devices measure becomes a chart each, where it has a place on the axis", () => {
  const seconds = ({ endTime }: MetricReport) => new Date(endTime).getUTCSeconds();
  const made = hardwareCharts(
    [
      report("memory", 10, { node1: { memory_free: 2 ** 31 } }),
      report("cpu", 10, { node1: { cpu_util_simple: 50 } }),
      report("cpu", 20, { node1: { cpu_util_simple: 70 } }),
      report("cpu", 20, { node2: { cpu_util_simple: 10 } }),
      report("gpu", 20, { node1: { "GPU-a": { gpu_util: 90 }, "GPU-b": { gpu_util: 80 } } }),
      report("disk", 20, { node1: { disk_iops: 3, "/": { disk_util: 40 }, later: { latency: 5 } } }),
      report("training", 20, { loss: 1 }),
    ],
    "time",
    (report) => (report.group === "memory" ? undefined : seconds(report)),
  );
  expect(made.map(({ name }) => name)).toEqual([
    "CPU utilization, %",
    "GPU utilization, %",
    "Disk used, %",
    "Disk operations per second",
    "disk: latency",
  ]);
  const [cpu, gpu, disk] = made;
  expect(cpu?.series.map(({ label }) => label)).toEqual(["node1", "node2"]);
  expect(cpu?.data).toEqual([[10, 20], [50, 70], [undefined, 10]]);
  expect(gpu?.series.map(({ label }) => label)).toEqual(["node1 GPU-a", "node1 GPU-b"]);
  expect(disk?.series.map(({ label }) => label)).toEqual(["node1 /"]);
  expect(cpu?.axis).toBe("time");
});

test("nothing measured is no chart", () => {
  expect(hardwareCharts([report("validation", 1, { loss: 2 })], "time", () => 1)).toEqual([]);
});
