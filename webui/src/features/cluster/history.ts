/** Who used how many slots for how long: what the master counted, as a chart and a table show it. Pure. */

import { csvText, parseCsv } from "../../components/charts/csv";
import type { Query } from "../../components/address/paths";

/** By what usage is told apart: the API's names, and ours. */
export const groupings = [
  ["username", "user"],
  ["workspace", "workspace"],
  ["experiment_label", "label"],
  ["resource_pool", "resource pool"],
  ["agent", "agent"],
  ["total", "nothing"],
] as const;
export type Grouping = (typeof groupings)[number][0];

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

/** Where the master tells it, as CSV: sums, or every allocation by itself. */
export function sumsAddress({ from, to, period }: Range): string {
  const how = period === "month" ? "MONTHLY" : "DAILY";
  return `/resources/allocation/aggregated?startDate=${from}&endDate=${to}&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_${how}`;
}
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

/** One user, workspace, …: its slot-hours in each period. */
export interface Group {
  readonly name: string;
  readonly hours: readonly number[];
  readonly total: number;
}

/** The groups of the master's table, the largest first. Labels are of experiments, which may have several. */
export function groupsOf(csv: string, grouping: Grouping, periods: readonly string[]): Group[] {
  const index = new Map(periods.map((name, i) => [name, i]));
  const groups = new Map<string, number[]>();
  for (const [type, key = "", date = "", seconds] of parseCsv(csv).slice(1)) {
    const at = index.get(date);
    if (type !== grouping || at === undefined) continue;
    let hours = groups.get(key);
    if (hours === undefined) groups.set(key, (hours = periods.map(() => 0)));
    hours[at] = (hours[at] ?? 0) + Number(seconds) / 3600;
  }
  return [...groups]
    .map(([name, hours]) => ({ name, hours, total: hours.reduce((sum, h) => sum + h, 0) }))
    .sort((a, b) => b.total - a.total || a.name.localeCompare(b.name));
}

/** The largest groups, and all others as one, so that there are at most `max`. */
export function largest(groups: readonly Group[], max: number): { shown: readonly Group[]; rest: Group | undefined } {
  if (groups.length <= max) return { shown: groups, rest: undefined };
  const others = groups.slice(max - 1);
  const hours = (others[0]?.hours ?? []).map((_, i) => others.reduce((sum, group) => sum + (group.hours[i] ?? 0), 0));
  const rest = { name: `${others.length} others`, hours, total: hours.reduce((sum, h) => sum + h, 0) };
  return { shown: groups.slice(0, max - 1), rest };
}

/** A round number of at least `value`, for the top of an axis. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/** What the page shows, as a table for other programs: a row a period, a column a group. */
export function historyCsv(groups: readonly Group[], periods: readonly string[]): string {
  return csvText([["date", ...groups.map(({ name }) => name)], ...periods.map((date, i) => [date, ...groups.map(({ hours }) => hours[i] ?? 0)])]);
}

/** "12.3", "0.04": slot-hours as people compare them. */
export function formatHours(hours: number): string {
  if (hours === 0) return "0";
  if (hours >= 100) return Math.round(hours).toLocaleString("en-US");
  return hours >= 1 ? hours.toFixed(1) : String(Number(hours.toPrecision(2)));
}
