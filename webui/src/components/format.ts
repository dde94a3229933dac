/** Values as people read them. */

import type { WireNumber } from "../api/types";

/** "STATE_COMPLETED" -> "completed". */
export function stateName(state: string): string {
  return state.replace(/^STATE_/, "").replaceAll("_", " ").toLowerCase();
}

export type Tone = "active" | "waiting" | "good" | "bad" | "neutral";

/** How a state looks. Every state that is not listed is on its way somewhere. */
export function stateTone(state: string): Tone {
  switch (state) {
    case "STATE_RUNNING":
    case "STATE_ACTIVE":
    case "STATE_SCHEDULED":
      return "active";
    case "STATE_COMPLETED":
      return "good";
    case "STATE_ERROR":
    case "STATE_DELETE_FAILED":
      return "bad";
    case "STATE_CANCELED":
    case "STATE_PAUSED":
    case "STATE_DELETED":
      return "neutral";
    default:
      return "waiting";
  }
}

export function isTerminal(state: string): boolean {
  return ["STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR", "STATE_DELETED", "STATE_DELETE_FAILED"].includes(state);
}

/** Whether it has slots now, or had them: all others wait for some, or for somebody who lets them go on. */
export const hasRun = (state: string): boolean =>
  isTerminal(state) || state === "STATE_RUNNING" || state.startsWith("STATE_STOPPING");

/** A metric's number, or undefined for what is not a number. */
export function toNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (value === "NaN" || value === "Nan") return Number.NaN;
  if (value === "Infinity") return Number.POSITIVE_INFINITY;
  if (value === "-Infinity") return Number.NEGATIVE_INFINITY;
  return undefined;
}

/** Up to six significant digits, exponents only where they are shorter. */
export function formatNumber(value: WireNumber | null | undefined): string {
  const number = toNumber(value);
  if (number === undefined) return "";
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return number.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(number.toPrecision(6)));
}

/** A metric's value: a number, a text as it is, all else as JSON. */
export function metricText(value: unknown): string {
  return formatNumber(toNumber(value)) || (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

/** A text as it is, unless it is a number with more digits than people read. */
export function shortNumber(text: string): string {
  const long = /^-?\d*\.?\d+(e[+-]?\d+)?$/i.test(text) && text.replace(/^-/, "").length > 7;
  return long ? formatNumber(Number(text)) : text;
}

/** "3 h 05 min", "4 min 07 s", "12 s". */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  if (days > 0) return `${days} d ${two(hours)} h`;
  if (hours > 0) return `${hours} h ${two(minutes)} min`;
  if (minutes > 0) return `${minutes} min ${two(seconds % 60)} s`;
  return `${seconds} s`;
}

/** How long something ran, or runs up to now. */
export function runTime(startTime: string, endTime: string | null | undefined, now: number): string {
  const start = Date.parse(startTime);
  const end = endTime ? Date.parse(endTime) : now;
  return Number.isNaN(start) || Number.isNaN(end) ? "" : formatDuration(end - start);
}

/** "2.5 MB", in steps of 1024. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit] ?? ""}`;
}

/** Hyperparameters one a line: nested names joined by dots, constants by their value. */
export function flatten(value: unknown, prefix = ""): [string, string][] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, inner]) => flatten(inner, prefix === "" ? name : `${prefix}.${name}`));
  }
  return prefix === "" ? [] : [[prefix, typeof value === "string" ? value : JSON.stringify(value)]];
}

/** "just now", "5 min ago", "3 h ago", "2 days ago", else the day. */
export function formatAge(time: number, now: number): string {
  if (Number.isNaN(time)) return "";
  const seconds = Math.floor((now - time) / 1000);
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 14 * 86400) return `${Math.floor(seconds / 86400)} d ago`;
  return new Date(time).toISOString().slice(0, 10);
}

/** "1 trial", "12 trials", "1,204 lines". */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
}

/** The text with a capital letter at its beginning, as labels have it. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
