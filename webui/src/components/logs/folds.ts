/** Stack traces and errors in a log. Pure. */

import type { LogLine } from "../../api/types";

/** A stack trace: it begins at a line, which stands for all. */
export interface Fold {
  /** Lines after the first. */
  readonly hidden: readonly LogLine[];
  /** What was raised: "ValueError: odd". */
  readonly raised: string;
}

const begins = "Traceback (most recent call last):";
/** What Python says between two traces of one failure. */
const between = /^(During handling of the above exception|The above exception was the direct cause)/;

// Colours would hide what a line begins with.
// eslint-disable-next-line no-control-regex
const plain = ({ log }: LogLine) => log.replaceAll(/\x1b\[[0-9;]*m/g, "").replace(/[\r\n]+$/, "");
/** What stands before a trace, as loggers put it, ends where the trace begins. */
const beginOf = (line: LogLine) => (line.log.includes(begins) ? plain(line).indexOf(begins) : -1);
const source = ({ rankId, source: name, agentId }: LogLine) => `${agentId} ${rankId} ${name}`;

/** The traces in lines, by the ID of their first one. Each goes on in the lines of its rank that follow it, until others come. */
export function foldsOf(lines: readonly LogLine[]): ReadonlyMap<string, Fold> {
  const folds = new Map<string, Fold>();
  for (let at = 0; at < lines.length; at += 1) {
    const first = lines[at] as LogLine;
    const indent = beginOf(first);
    if (indent < 0) continue;
    const prefix = plain(first).slice(0, indent);
    const rest = (line: LogLine) => (plain(line).startsWith(prefix) ? plain(line).slice(prefix.length) : plain(line));
    let raised = "";
    let end = at + 1;
    for (; end < lines.length; end += 1) {
      const line = lines[end] as LogLine;
      if (source(line) !== source(first)) break;
      const text = rest(line);
      if (raised === "") {
        if (!/^(\s|$)/.test(text)) raised = text;
      } else if (between.test(text) || text.startsWith(begins)) {
        raised = text.startsWith(begins) ? "" : raised;
      } else if (text !== "" || !goesOn(lines, end, source(first), rest)) {
        break;
      }
    }
    if (raised === "" || end - at < 3) continue;
    folds.set(first.id, { hidden: lines.slice(at + 1, end), raised });
    at = end - 1;
  }
  return folds;
}

/** Whether after an empty line one says that another trace follows. */
function goesOn(lines: readonly LogLine[], at: number, of: string, rest: (line: LogLine) => string): boolean {
  const next = lines.slice(at, at + 3).find((line) => rest(line) !== "");
  return next !== undefined && source(next) === of && (between.test(rest(next)) || rest(next).startsWith(begins));
}

/** Lines without those that are folded away. */
export function unfolded(lines: readonly LogLine[], folds: ReadonlyMap<string, Fold>, open: ReadonlySet<string>): readonly LogLine[] {
  const hidden = new Set([...folds].flatMap(([id, fold]) => (open.has(id) ? [] : fold.hidden.map((line) => line.id))));
  return hidden.size === 0 ? lines : lines.filter(({ id }) => !hidden.has(id));
}

const known = new WeakMap<LogLine, boolean>();

/** Whether a line tells of an error by itself. Logs are long, and looked through whenever a line comes. */
function isError(line: LogLine): boolean {
  let error = known.get(line);
  if (error === undefined) {
    const level = (line.level ?? "").replace("LOG_LEVEL_", "");
    error = level === "ERROR" || level === "CRITICAL" || /^([\w.]*(Error|Exception)\b:|terminate called after throwing|\S*Segmentation fault)/.test(plain(line));
    known.set(line, error);
  }
  return error;
}

/** Where lines tell of an error: by their level, by a trace that begins there, or because an exception is named at their beginning. */
export function errorsIn(lines: readonly LogLine[], folds: ReadonlyMap<string, Fold>): number[] {
  const raised = new Set([...folds.values()].flatMap(({ hidden }) => hidden.map(({ id }) => id)));
  return lines.flatMap((line, at) => (folds.has(line.id) || (isError(line) && !raised.has(line.id)) ? [at] : []));
}
