/** Filters as people type them, such as `lr < 1e-3 and state = RUNNING`. The master parses them; here they are told
 * from plain words, put together and completed. Pure. */

import type { Query } from "../../../components/address/paths";
import { stateFilters } from "./search";

/** Whether a text is an expression, and not just words to look for. */
export const isExpression = (text: string): boolean => /[=<>~!()]|\bis\s+(not\s+)?empty\b|\bcontains\s+\S/i.test(text);

const quoted = (text: string): string => (/^[\w.@+-]+$/.test(text) ? text : `"${text.replaceAll('"', "")}"`);

/** All filters of an address as one expression. */
export function wholeExpression(query: Query): string {
  const parts: string[] = [];
  if (query.filter) parts.push(query.filter);
  for (const word of (query.search ?? "").split(/\s+/).filter((text) => text !== "")) parts.push(`"${word.replaceAll('"', "")}"`);
  const states = stateFilters[query.state ?? ""];
  if (states) parts.push(`state in (${states.map((state) => state.replace("STATE_", "")).join(", ")})`);
  if (query.user) parts.push(`user = ${quoted(query.user)}`);
  if (query.label) parts.push(`label = ${quoted(query.label)}`);
  if (query.archived === "yes") parts.push("archived = yes");
  if (query.archived === "all") parts.push("archived in (yes, no)");
  // Alone, it stays as it was typed, so that errors name the right character.
  if (query.filter && parts.length > 1) parts[0] = `(${query.filter})`;
  return parts.join(" and ");
}

/** What can be completed. */
export interface Vocabulary {
  readonly hyperparameters: readonly string[];
  readonly metrics: readonly string[];
  readonly users: readonly string[];
  readonly labels: readonly string[];
}

const columns = [
  "state", "user", "label", "name", "description", "started", "ended", "duration", "best", "metric", "trials", "searcher",
  "pool", "progress", "checkpoints", "size", "parent", "project", "archived", "id",
] as const; // prettier-ignore
const states = ["ACTIVE", "RUNNING", "QUEUED", "PAUSED", "COMPLETED", "CANCELED", "ERROR"] as const;
const operators = ["=", "!=", "<", "<=", ">", ">=", "contains", "in (", "is empty"] as const;
const times = ["1h", "1d", "7d", "30d"] as const;

const named = (name: string): string => (/^[\w.-]+$/.test(name) ? name : `\`${name}\``);

interface Token {
  readonly text: string;
  readonly at: number;
}

/** The tokens of an unfinished text. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (const found of text.matchAll(/"[^"]*"?|'[^']*'?|`[^`]*`?|[=<>!~]+|[(),]|[^\s"'`(),=<>!~]+/g)) tokens.push({ text: found[0], at: found.index });
  return tokens;
}

export interface Completion {
  /** The part of the text that an option replaces. */
  readonly from: number;
  readonly to: number;
  readonly options: readonly string[];
}

const joins = ["and", "or"];
const isOperator = (text: string) => /^[=<>!~]+$/.test(text) || text.toLowerCase() === "contains";

function valuesOf(column: string, known: Vocabulary): readonly string[] {
  switch (column.toLowerCase()) {
    case "state":
      return states;
    case "user":
    case "owner":
      return ["me", ...known.users.map(quoted)];
    case "label":
    case "tag":
      return known.labels.map(quoted);
    case "archived":
      return ["yes", "no"];
    case "started":
    case "ended":
    case "duration":
      return times;
    default:
      return [];
  }
}

/** What could come at the cursor. */
export function complete(text: string, cursor: number, known: Vocabulary): Completion {
  const before = tokensOf(text.slice(0, cursor));
  const last = before.at(-1);
  const typing = last !== undefined && last.at + last.text.length === cursor && !/^[(),]$/.test(last.text) ? last : undefined;
  const done = typing === undefined ? before : before.slice(0, -1);
  const typed = typing?.text ?? "";
  const place = (options: readonly string[]): Completion => {
    const wanted = typed.replace(/^["'`]/, "").toLowerCase();
    const fitting = options.filter((option) => option.toLowerCase().replace(/^["'`]/, "").includes(wanted) && option !== typed);
    // Those that begin with it come first.
    const begins = (option: string) => (option.toLowerCase().startsWith(wanted) ? 0 : 1);
    return { from: cursor - typed.length, to: cursor, options: [...fitting].sort((a, b) => begins(a) - begins(b)) };
  };
  const previous = done.at(-1)?.text.toLowerCase();
  const open = lastOpen(done);
  if (open !== undefined && previous !== undefined && /^[(,]$/.test(previous)) return place(valuesOf(done[open - 2]?.text ?? "", known));
  if (previous !== undefined && isOperator(previous)) return place(valuesOf(done.at(-2)?.text ?? "", known));
  const starts = previous === undefined || joins.includes(previous) || previous === "not" || previous === "(";
  if (starts) return place([...columns, ...known.hyperparameters.map(named), ...known.metrics.map(named), "not", "("]);
  const beforeThat = done.at(-2)?.text.toLowerCase();
  const column = beforeThat === undefined || joins.includes(beforeThat) || beforeThat === "not" || beforeThat === "(";
  if (column && previous !== ")") return place([...operators, ...joins]);
  return place(joins);
}

/** What is offered while somebody types: for plain words only columns that begin like the one word, not to be in the way. */
export function offered(text: string, { options }: Completion, known: Vocabulary): readonly string[] {
  if (isExpression(text) || text === "") return options;
  const word = text.trim().toLowerCase();
  // After the name of a column, operators.
  if (/\s$/.test(text)) return /\s/.test(word) || ![...columns, ...known.hyperparameters, ...known.metrics].some((name) => name.toLowerCase() === word) ? [] : options;
  return options.filter((option) => option.toLowerCase().startsWith(word));
}

/** Where the list behind `in` opens that is not closed yet. */
function lastOpen(tokens: readonly Token[]): number | undefined {
  for (let at = tokens.length - 1; at >= 0; at--) {
    if (tokens[at]?.text === ")") return undefined;
    if (tokens[at]?.text === "(") return tokens[at - 1]?.text.toLowerCase() === "in" ? at : undefined;
  }
  return undefined;
}

/** The text with an option in its place, and where the cursor then is. */
export function completed(text: string, { from, to }: Completion, option: string): { readonly text: string; readonly cursor: number } {
  const after = text.slice(to);
  const gap = after.startsWith(" ") || option.endsWith("(") ? "" : " ";
  const head = text.slice(0, from) + option + gap;
  return { text: head + after, cursor: head.length };
}
