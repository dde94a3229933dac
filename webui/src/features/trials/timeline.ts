/** What happened to a trial, in order: when it waited, ran, validated, saved and gave way, and why. Pure. */

import type { Checkpoint, LogLine, Workload } from "../../api/types";
import { count, metricText, toNumber } from "../../components/format";

/** A run of the trial as the master keeps it. */
export interface Allocation {
  readonly allocationId: string;
  readonly requestedTime?: string | null;
  readonly startTime?: string | null;
  readonly endTime?: string | null;
  readonly agents: readonly string[];
  readonly slots: number;
  readonly exitReason: string;
}

export interface Lane {
  readonly run: number;
  /** Milliseconds; undefined: not yet. */
  readonly requested: number;
  readonly started: number | undefined;
  readonly ended: number | undefined;
  readonly slots: number;
}

export type EventKind = "queued" | "started" | "validated" | "saved" | "note" | "ended";

export interface Happened {
  readonly time: number;
  readonly kind: EventKind;
  readonly run: number | undefined;
  readonly text: string;
}

export interface Timeline {
  readonly begin: number;
  readonly end: number;
  readonly lanes: readonly Lane[];
  readonly events: readonly Happened[];
}

const runOf = (allocationId: string) => Number(/\.(\d+)$/.exec(allocationId)?.[1] ?? 1);
const ms = (time: string | null | undefined) => (time ? Date.parse(time) : undefined);

/** Of what happens in one moment, what comes first. */
const orders: readonly EventKind[] = ["ended", "queued", "started", "validated", "saved", "note"];

/** Lines that say what allocations say, too. */
const told = /\(run \d+\) starts on agent /;

export interface Sources {
  readonly allocations: readonly Allocation[];
  readonly checkpoints: readonly Checkpoint[];
  readonly validations: readonly Workload[];
  /** The master's own lines in the trial's log. */
  readonly notes: readonly Pick<LogLine, "log" | "timestamp">[];
  /** The metric to show of a validation. */
  readonly metric: string;
}

export function timelineOf({ allocations, checkpoints, validations, notes, metric }: Sources, now: number): Timeline {
  const lanes = allocations
    .flatMap(({ allocationId, requestedTime, startTime, endTime, slots }): Lane[] => {
      const requested = ms(requestedTime) ?? ms(startTime);
      return requested === undefined ? [] : [{ run: runOf(allocationId), requested, started: ms(startTime), ended: ms(endTime), slots }];
    })
    .sort((a, b) => a.run - b.run);
  const at = (time: number) => lanes.findLast(({ started }) => started !== undefined && started <= time)?.run;
  const events: Happened[] = [];
  const add = (time: number | undefined, kind: EventKind, run: number | undefined, text: string) => {
    if (time !== undefined && !Number.isNaN(time)) events.push({ time, kind, run, text });
  };
  for (const allocation of allocations) {
    const run = runOf(allocation.allocationId);
    const [requested, started, ended] = [ms(allocation.requestedTime), ms(allocation.startTime), ms(allocation.endTime)];
    if (requested !== undefined && (started === undefined || started - requested >= 1000)) add(requested, "queued", run, "Queued");
    const where = allocation.agents.length > 0 ? ` on ${allocation.agents.join(", ")}` : "";
    add(started, "started", run, `Run ${run} started${where}${allocation.slots > 0 ? ` with ${count(allocation.slots, "slot")}` : ""}`);
    add(ended, "ended", run, started === undefined ? "Left the queue" : `Run ${run} ended${allocation.exitReason ? `: ${allocation.exitReason}` : ""}`);
  }
  for (const { validation } of validations) {
    if (!validation) continue;
    const time = ms(validation.endTime);
    const value = (validation.metrics.avgMetrics as Readonly<Record<string, unknown>> | null)?.[metric];
    const found = value === undefined ? "" : `: ${metric} ${metricText(value)}`;
    add(time, "validated", time === undefined ? undefined : at(time), `Validated after batch ${validation.totalBatches}${found}`);
  }
  for (const { reportTime, metadata, allocationId } of checkpoints) {
    const batches = toNumber(metadata.steps_completed);
    add(ms(reportTime), "saved", runOf(allocationId), batches === undefined ? "Saved a checkpoint" : `Saved a checkpoint after batch ${batches}`);
  }
  for (const { log, timestamp } of notes) {
    const time = ms(timestamp);
    const text = log.trim();
    if (!told.test(text)) add(time, "note", time === undefined ? undefined : at(time), text.charAt(0).toUpperCase() + text.slice(1));
  }
  events.sort((a, b) => a.time - b.time || orders.indexOf(a.kind) - orders.indexOf(b.kind));
  const times = [...events.map(({ time }) => time), ...lanes.map(({ requested }) => requested)];
  const begin = times.length > 0 ? Math.min(...times) : now;
  const live = lanes.some(({ ended }) => ended === undefined);
  const end = Math.max(begin + 1, live ? now : begin, ...times, ...lanes.map(({ ended }) => ended ?? begin));
  return { begin, end, lanes, events };
}
