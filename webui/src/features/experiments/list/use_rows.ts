import { useEffect, useMemo, useState } from "react";
import { type Loadable, usePolled } from "../../../api/loadable";
import type { Query } from "../../../components/address/paths";
import { type ExperimentGroup, listExperiments, listGroups } from "../api";
import type { Listed } from "./extra_columns";
import { pageSize } from "./search";
import type { Section } from "./sections";

const pollMs = 2000;
/** While somebody scrolls, what passes is not asked for. */
const restMs = 80;

/** A page of a group, or of a list that has none (""). */
export interface Wanted {
  readonly group: string;
  /** From 0. */
  readonly page: number;
}

/** What of a list is here. */
export interface Rows {
  readonly question: string;
  readonly groups: readonly ExperimentGroup[];
  readonly sections: readonly Section[];
  /** All that match, in all groups. */
  readonly total: number;
  /** By group and page. */
  readonly pages: ReadonlyMap<string, readonly Listed[]>;
}

const nameOf = ({ group, page }: Wanted) => `${page} ${group}`;
const keyOf = (value: unknown): string => JSON.stringify(value ?? null);
/** What tells a section of the list from the others, whatever their order. */
export const keyAt = ({ groups }: Rows, section: number): string => (groups.length === 0 ? "" : keyOf(groups[section]?.value));

export const rowAt = (rows: Rows, section: number, row: number): Listed | undefined =>
  rows.pages.get(nameOf({ group: keyAt(rows, section), page: Math.floor(row / pageSize) }))?.[row % pageSize];

/** The groups that are open, as the address has them. */
export function openGroups(text: string | undefined): ReadonlySet<string> {
  try {
    const list: unknown = JSON.parse(text || "[]");
    return new Set(Array.isArray(list) ? list.map(String) : []);
  } catch {
    return new Set();
  }
}

async function load(question: string, query: Query, columns: readonly string[], wanted: readonly Wanted[], signal: AbortSignal): Promise<Rows> {
  const groups = query.group ? await listGroups(query, columns, signal) : [];
  const open = openGroups(query.open);
  const byKey = new Map(groups.map(({ value }) => [keyOf(value), value]));
  const fitting = wanted.filter(({ group }) => (query.group ? open.has(group) && byKey.has(group) : group === ""));
  // A list that had groups a moment ago has none of its own pages in view yet.
  const there = query.group || fitting.length > 0 ? fitting : [{ group: "", page: 0 }];
  const parts = await Promise.all(there.map(({ group, page }) => listExperiments(query, columns, { page, group: byKey.get(group) }, signal)));
  const total = query.group ? groups.reduce((sum, { count }) => sum + count, 0) : (parts[0]?.pagination.total ?? 0);
  const sections = query.group
    ? groups.map(({ count, value }) => ({ count, open: open.has(keyOf(value)), headed: true }))
    : [{ count: total, open: true, headed: false }];
  return { question, groups, sections, total, pages: new Map(there.map((one, at) => [nameOf(one), parts[at]?.experiments ?? []])) };
}

/** What is here after an answer: pages that are out of view stay as they were, as long as the same is asked. */
function merged(before: Rows | undefined, now: Rows): Rows {
  if (before?.question !== now.question || before.total !== now.total) return now;
  return { ...now, pages: new Map([...before.pages, ...now.pages]) };
}

/**
 * The rows of a list, loaded by pages as they come into view, and again while they are there. While the next answer is on its
 * way, the last one stays: nothing jumps while one types.
 */
export function useRows(query: Query, columns: readonly string[], wanted: readonly Wanted[]): readonly [Loadable<Rows>, () => void] {
  const { row: _row, ...asked } = query;
  const question = JSON.stringify([asked, columns]);
  const text = JSON.stringify(wanted);
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), restMs);
    return () => clearTimeout(timer);
  }, [text]);
  const pages = useMemo(() => JSON.parse(rested) as readonly Wanted[], [rested]);
  const [list, reload] = usePolled(question + rested, (signal) => load(question, query, columns, pages, signal), pollMs, undefined, {
    topics: ["experiments"],
    leastMs: 1000,
  });
  const [last, setLast] = useState<{ readonly answer: Rows; readonly all: Rows }>();
  if (list.status === "loaded" && list.value !== last?.answer) setLast({ answer: list.value, all: merged(last?.all, list.value) });
  if (last === undefined || list.status === "failed") return [list as Loadable<Rows>, reload];
  return [{ ...(list.status === "loaded" ? list : { status: "loaded" }), value: last.all }, reload];
}
