/**
 * The part of a log that is in memory: a run of lines that grows at both ends and
 * stays bounded. Pure; `logs.tsx` shows it, and only the lines that are on the screen.
 */

import type { LogLine } from "../../api/types";

export interface LogWindow {
  readonly lines: readonly LogLine[];
  /** There are older lines that are not here. */
  readonly moreBefore: boolean;
  /** There are newer lines that are not here (those that are still to come do not count). */
  readonly moreAfter: boolean;
}

export const emptyWindow: LogWindow = { lines: [], moreBefore: false, moreAfter: false };
export const linesMax = 100_000;

/** Ids are 64-bit integers as text: longer is larger. */
export const isAfter = (a: string, b: string): boolean => (a.length === b.length ? a > b : a.length > b.length);

/** Newer lines at the end; what is there already is left out. The oldest go when there are too many. */
export function append(window: LogWindow, newer: readonly LogLine[], max = linesMax): LogWindow {
  const last = window.lines.at(-1)?.id;
  const fresh = last === undefined ? newer : newer.filter(({ id }) => isAfter(id, last));
  if (fresh.length === 0) return window;
  const all = [...window.lines, ...fresh];
  const over = all.length - max;
  return over > 0 ? { ...window, lines: all.slice(over), moreBefore: true } : { ...window, lines: all };
}

/** Older lines (oldest first) at the beginning. The newest go when there are too many. */
export function prepend(window: LogWindow, older: readonly LogLine[], more: boolean, max = linesMax): LogWindow {
  const first = window.lines[0]?.id;
  const fresh = first === undefined ? older : older.filter(({ id }) => isAfter(first, id));
  const all = [...fresh, ...window.lines];
  const over = all.length - max;
  const lines = over > 0 ? all.slice(0, max) : all;
  return { lines, moreBefore: more, moreAfter: window.moreAfter || over > 0 };
}

/** Which lines are to be drawn for a box that is scrolled to `top`: [from, to). */
export function visible(count: number, lineHeight: number, top: number, height: number, extra = 20): readonly [number, number] {
  const from = Math.max(0, Math.floor(top / lineHeight) - extra);
  const to = Math.min(count, Math.ceil((top + height) / lineHeight) + extra);
  return [Math.min(from, count), Math.max(to, Math.min(from, count))];
}

/** A text cut at each place where it has `searched`: matches are at odd places. */
export function marked(text: string, searched: string): readonly string[] {
  if (searched === "") return [text];
  const parts: string[] = [];
  let at = 0;
  for (let found = text.indexOf(searched); found >= 0; found = text.indexOf(searched, at)) {
    parts.push(text.slice(at, found), searched);
    at = found + searched.length;
  }
  return [...parts, text.slice(at)];
}
