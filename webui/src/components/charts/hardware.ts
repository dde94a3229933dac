/** What the profiler measured of the machines of a trial, as charts. Pure. */

import type { MetricReport } from "../../api/types";
import { toNumber } from "../format";
import { type Axis, type Chart, chart, type MetricPoint } from "./curves";

/** The groups of metrics under which the profiler reports. */
export const hardwareGroups = ["cpu", "gpu", "memory", "disk", "network"] as const;

const gib = 2 ** 30;
const mib = 2 ** 20;

/** How what it measures is called and counted here; other names stay as they are. */
const known: Readonly<Record<string, { readonly title: string; readonly unit: number }>> = {
  cpu_util_simple: { title: "CPU utilization, %", unit: 1 },
  gpu_util: { title: "GPU utilization, %", unit: 1 },
  gpu_free_memory: { title: "GPU memory free, GiB", unit: gib },
  memory_free: { title: "Memory free, GiB", unit: gib },
  disk_util: { title: "Disk used, %", unit: 1 },
  disk_iops: { title: "Disk operations per second", unit: 1 },
  disk_throughput_read: { title: "Disk read, MiB/s", unit: mib },
  disk_throughput_write: { title: "Disk written, MiB/s", unit: mib },
  net_throughput_recv: { title: "Network received, MiB/s", unit: mib },
  net_throughput_sent: { title: "Network sent, MiB/s", unit: mib },
};

/** Whether a report is the profiler's. */
export const ofHardware = ({ group }: Pick<MetricReport, "group">) => (hardwareGroups as readonly string[]).includes(group);

interface Leaf {
  /** The machine, and the device in it, if it has several. */
  readonly where: string;
  readonly name: string;
  readonly value: number;
}

/** The numbers in nested values: the last name says what it is, those before where. */
function leaves(values: Readonly<Record<string, unknown>>, where: readonly string[] = []): Leaf[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (typeof value === "object" && value !== null) return leaves(value as Readonly<Record<string, unknown>>, [...where, name]);
    const number = toNumber(value);
    return number === undefined ? [] : [{ where: where.join(" "), name, value: number }];
  });
}

/** A chart for each thing that was measured, a curve for each machine or device; `place` says where on the axis, or undefined: nowhere. */
export function hardwareCharts(reports: readonly MetricReport[], axis: Axis, place: (report: MetricReport) => number | undefined): Chart[] {
  const byTitle = new Map<string, MetricPoint[]>();
  for (const report of reports) {
    if (!ofHardware(report)) continue;
    const { trialId, group, metrics } = report;
    const x = place(report);
    if (x === undefined) continue;
    for (const { where, name, value } of leaves(metrics.avg_metrics ?? {})) {
      const { title, unit } = known[name] ?? { title: `${group}: ${name}`, unit: 1 };
      const list = byTitle.get(title) ?? [];
      list.push({ trialId, group: where, name: title, x, value: value / unit });
      byTitle.set(title, list);
    }
  }
  const titles = Object.values(known).map(({ title }) => title);
  const rank = (title: string) => (titles.includes(title) ? titles.indexOf(title) : titles.length);
  return [...byTitle].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b)).map(([title, points]) => chart(title, points, axis));
}
