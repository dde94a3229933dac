import type { PoolSample } from "../../api/types";

/** One line of the chart: a value for each sample. */
export interface NodeSeries {
  readonly name: string;
  readonly values: readonly number[];
}

/** Nodes that run, that are requested as well, and that the requests in the queue and the running tasks need. */
export function nodeSeries(samples: readonly PoolSample[], slotsPerNode: number): readonly NodeSeries[] {
  const inNodes = (slots: number) => Math.ceil(slots / Math.max(1, slotsPerNode));
  return [
    { name: "running", values: samples.map(({ nodesRunning }) => nodesRunning) },
    { name: "running and requested", values: samples.map(({ nodesRunning, nodesRequested }) => nodesRunning + nodesRequested) },
    { name: "needed", values: samples.map(({ slotsUsed, slotsWaitedFor }) => inNodes(slotsUsed + slotsWaitedFor)) },
  ];
}

/** A path that keeps each value until the next one: `x` and `y` place them. */
export function stepPath(values: readonly number[], x: (index: number) => number, y: (value: number) => number): string {
  return values.map((value, i) => (i === 0 ? `M${x(0)},${y(value)}` : `H${x(i)}V${y(value)}`)).join("");
}
