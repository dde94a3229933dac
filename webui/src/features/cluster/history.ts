/** Who used how many slots for how long: what the master counted, as a chart and a table show it. Pure. */

import type { UsageEntry } from "../../api/types";
import { csvText } from "../../components/charts/csv";
import type { Query } from "../../components/address/paths";

/** By what usage is told apart: the address's names, ours, and where an entry has the sums. */
export const groupings = [
  ["username", "user"],
  ["workspace", "workspace"],
  ["experiment_label", "label"],
  ["resource_pool", "resource pool"],
  ["agent", "agent"],
  ["total", "nothing"],
] as const;
export type Grouping = (typeof groupings)[number][0];

/** What is drawn, and compared. */
export type Measure = "hours" | "cost";

type Sums = Readonly<Record<string, number>>;
const sumsOf: Readonly<Record<Grouping, (entry: UsageEntry) => Readonly<{ seconds: Sums; cost: Sums }>>> = {
  username: ({ byUsername, costByUsername }) => ({ seconds: byUsername, cost: costByUsername }),
  workspace: ({ byWorkspace, costByWorkspace }) => ({ seconds: byWorkspace, cost: costByWorkspace }),
  experiment_label: ({ byExperimentLabel, costByExperimentLabel }) => ({ seconds: byExperimentLabel, cost: costByExperimentLabel }),
  resource_pool: ({ byResourcePool, costByResourcePool }) => ({ seconds: byResourcePool, cost: costByResourcePool }),
  agent: ({ byAgentLabel, costByAgentLabel }) => ({ seconds: byAgentLabel, cost: costByAgentLabel }),
  total: ({ seconds, cost }) => ({ seconds: { total: seconds }, cost: { total: cost } }),
};

export type Period = "day" | "month";

/** What is looked at: whole days or months, in UTC, the last one included. */
export interface Range {
  readonly from: string;
  readonly to: string;
  readonly period: Period;
}

export const ranges = [
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["year", "12 months"],
] as const;
export const usualRange = "30";

const dayMs = 86_400_000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);
const isDay = (text: string | undefined): text is string =>
  text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;
/** No chart shows more. */
const periodsMax = 1000;

/** The range that an address asks for: `range` up to today, or `from` and `to`. What it has wrong is as if it were not there. */
export function rangeOf(query: Query, now: number): Range {
  const today = dayOf(now);
  const period: Period = query.period === "month" ? "month" : "day";
  if (isDay(query.from) && isDay(query.to) && query.from <= query.to) {
    const days = (Date.parse(query.to) - Date.parse(query.from)) / dayMs;
    return { from: query.from, to: query.to, period: days >= periodsMax ? "month" : period };
  }
  if (query.range === "year") {
    const month = new Date(Date.UTC(Number(today.slice(0, 4)), Number(today.slice(5, 7)) - 12, 1));
    return { from: dayOf(month.getTime()), to: today, period: "month" };
  }
  const days = ranges.some(([name]) => name === query.range) ? Number(query.range) : Number(usualRange);
  return { from: dayOf(now - (days - 1) * dayMs), to: today, period };
}

/** How the master is asked for the sums. */
export function sumsQuery({ from, to, period }: Range): { startDate: string; endDate: string; period: string } {
  return { startDate: from, endDate: to, period: `RESOURCE_ALLOCATION_AGGREGATION_PERIOD_${period === "month" ? "MONTHLY" : "DAILY"}` };
}
/** Where the master tells every allocation by itself, as CSV. */
export function allocationsAddress({ from, to }: Range): string {
  return `/resources/allocation/allocations-csv?timestampAfter=${from}T00:00:00Z&timestampBefore=${dayOf(Date.parse(to) + dayMs)}T00:00:00Z`;
}

/** All days ("2026-11-22") or months ("2026-11") of the range. */
export function periodsOf({ from, to, period }: Range): string[] {
  const all: string[] = [];
  for (let time = Date.parse(from); dayOf(time) <= to; time += dayMs) {
    const name = period === "month" ? dayOf(time).slice(0, 7) : dayOf(time);
    if (all.at(-1) !== name) all.push(name);
  }
  return all;
}

/** A value in each period, and their sum. */
export interface Series {
  readonly values: readonly number[];
  readonly total: number;
}

/** One user, workspace, …: its slot-hours, and what they cost. */
export interface Group {
  readonly name: string;
  readonly hours: Series;
  readonly cost: Series;
}

/** One of a group's series, as it is drawn. */
export interface Layer extends Series {
  readonly name: string;
}

function seriesOf(values: readonly number[]): Series {
  return { values, total: values.reduce((sum, value) => sum + value, 0) };
}

/** The groups of the master's entries, those with most of `measure` first. Labels are of experiments, which may have several. */
export function groupsOf(entries: readonly UsageEntry[], grouping: Grouping, periods: readonly string[], measure: Measure): Group[] {
  const index = new Map(periods.map((name, i) => [name, i]));
  const groups = new Map<string, { hours: number[]; cost: number[] }>();
  for (const entry of entries) {
    const at = index.get(entry.periodStart);
    if (at === undefined) continue;
    const { seconds, cost } = sumsOf[grouping](entry);
    for (const [name, used] of Object.entries(seconds)) {
      let group = groups.get(name);
      if (group === undefined) groups.set(name, (group = { hours: periods.map(() => 0), cost: periods.map(() => 0) }));
      group.hours[at] = used / 3600;
      group.cost[at] = cost[name] ?? 0;
    }
  }
  return [...groups]
    .map(([name, { hours, cost }]) => ({ name, hours: seriesOf(hours), cost: seriesOf(cost) }))
    .sort((a, b) => b[measure].total - a[measure].total || a.name.localeCompare(b.name));
}

export function layersOf(groups: readonly Group[], measure: Measure): Layer[] {
  return groups.map((group) => ({ name: group.name, ...group[measure] }));
}

/** The largest layers, and all others as one, so that there are at most `max`. */
export function largest(layers: readonly Layer[], max: number): { shown: readonly Layer[]; rest: Layer | undefined } {
  if (layers.length <= max) return { shown: layers, rest: undefined };
  const others = layers.slice(max - 1);
  const values = (others[0]?.values ?? []).map((_, i) => others.reduce((sum, layer) => sum + (layer.values[i] ?? 0), 0));
  return { shown: layers.slice(0, max - 1), rest: { name: `${others.length} others`, ...seriesOf(values) } };
}

/** A round number of at least `value`, for the top of an axis. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/** What the chart shows, as a table for other programs: a row a period, a column a group. */
export function historyCsv(layers: readonly Layer[], periods: readonly string[]): string {
  return csvText([["date", ...layers.map(({ name }) => name)], ...periods.map((date, i) => [date, ...layers.map(({ values }) => values[i] ?? 0)])]);
}

/** "12.3", "0.04": slot-hours as people compare them. */
export function formatHours(hours: number): string {
  if (hours === 0) return "0";
  if (hours >= 100) return Math.round(hours).toLocaleString("en-US");
  return hours >= 1 ? hours.toFixed(1) : String(Number(hours.toPrecision(2)));
}

/** "€1,234", "$12.30", "CHF 0.0042": `currency` is a code of ISO 4217. */
export function formatCost(cost: number, currency: string): string {
  const digits = cost >= 1000 ? { maximumFractionDigits: 0 } : cost !== 0 && cost < 0.995 ? { maximumSignificantDigits: 2 } : {};
  return new Intl.NumberFormat("en-US", { style: "currency", currency, ...digits }).format(cost);
}
