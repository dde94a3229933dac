import { Fragment, useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { LogLine } from "../../api/types";
import { coloured } from "./ansi";
import { clockText, newDay } from "./clock";
import { count } from "../format";
import { errorsIn, type Fold, foldsOf, unfolded } from "./folds";
import { visible } from "./log_window";

const lineHeight = 18;
/** So many lines stay above one that somebody went to. */
const linesAbove = 4;

interface LinesProps {
  readonly lines: readonly LogLine[];
  /** Stays at the end while it is there. */
  readonly stick: boolean;
  readonly find: string;
  readonly onTop: (() => void) | undefined;
  readonly onBottom: (() => void) | undefined;
  readonly empty: string;
}

/** Lines of equal height, of which only those on the screen are in the page. Stack traces are folded, but not what is searched. */
export function Lines({ lines: newest, stick, find, onTop, onBottom, empty }: LinesProps) {
  const all = useDeferredValue(newest);
  const folds = useMemo(() => (find === "" ? foldsOf(all) : new Map<string, Fold>()), [all, find]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const lines = useMemo(() => unfolded(all, folds, open), [all, folds, open]);
  const errors = useMemo(() => errorsIn(lines, folds), [lines, folds]);
  const [at, setAt] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const atEnd = useRef(true);
  const heightBefore = useRef(0);
  const before = useRef<readonly LogLine[]>([]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const [old, now] = [before.current, lines];
    before.current = lines;
    // Who has just scrolled up, which is not told yet, is not at the end either.
    const above = heightBefore.current - element.scrollTop - element.clientHeight >= 2 * lineHeight;
    if (stick && atEnd.current && !above) {
      element.scrollTop = element.scrollHeight;
    } else if (old[0] !== undefined && now[0] !== old[0]) {
      // Lines came or went above: what one reads stays where it is.
      const moved = now.indexOf(old[0]);
      const gone = moved >= 0 || now[0] === undefined ? 0 : old.indexOf(now[0]);
      element.scrollTop += (moved > 0 ? moved : -Math.max(0, gone)) * lineHeight;
    }
    heightBefore.current = element.scrollHeight;
    setView({ top: element.scrollTop, height: element.clientHeight });
  }, [lines, stick]);

  const onScroll = () => {
    const element = box.current;
    if (element === null) return;
    const { scrollTop: top, clientHeight: height, scrollHeight } = element;
    atEnd.current = scrollHeight - top - height < 2 * lineHeight;
    setView({ top, height });
    if (top < 40 * lineHeight) onTop?.();
    if (scrollHeight - top - height < 40 * lineHeight) onBottom?.();
  };
  const toggle = (id: string) => setOpen((before) => new Set(before.has(id) ? [...before].filter((one) => one !== id) : [...before, id]));
  /** The next error behind the one that was gone to, or else behind what is on the screen; `way` -1: before. */
  const go = (way: 1 | -1) => {
    const element = box.current;
    const from = lines.findIndex(({ id }) => id === at);
    const shown = from >= 0 ? from : way > 0 ? Math.floor(view.top / lineHeight) - 1 : Math.ceil((view.top + view.height) / lineHeight);
    const to = way > 0 ? (errors.find((error) => error > shown) ?? errors[0]) : (errors.findLast((error) => error < shown) ?? errors.at(-1));
    if (element === null || to === undefined) return;
    atEnd.current = false;
    element.scrollTop = Math.max(0, (to - linesAbove) * lineHeight);
    setAt(lines[to]?.id ?? "");
  };
  const [from, to] = visible(lines.length, lineHeight, view.top, view.height);
  // The topmost line says its day, too.
  const top = Math.ceil(view.top / lineHeight);
  return (
    <>
      {errors.length > 0 && (
        <p className="row errors">
          <span>{count(errors.length, "error")} in the lines loaded</span>
          <button type="button" onClick={() => go(-1)}>
            Previous error
          </button>
          <button type="button" onClick={() => go(1)}>
            Next error
          </button>
        </p>
      )}
      <div className="logs" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-label="Log lines">
        {lines.length === 0 && <p className="quiet none">{empty}</p>}
        <div className="whole" style={{ height: lines.length * lineHeight }}>
          {lines.slice(from, to).map((line, index) => (
            <Line
              key={line.id}
              line={line}
              day={newDay(line.timestamp, from + index === top ? undefined : lines[from + index - 1]?.timestamp)}
              top={(from + index) * lineHeight}
              find={find}
              fold={folds.get(line.id)}
              open={open.has(line.id)}
              current={line.id === at}
              onToggle={() => toggle(line.id)}
            />
          ))}
        </div>
      </div>
    </>
  );
}

interface LineProps {
  readonly line: LogLine;
  /** Where it is another than that of the line before, and on top. */
  readonly day: string;
  readonly top: number;
  readonly find: string;
  /** The stack trace that begins here. */
  readonly fold: Fold | undefined;
  readonly open: boolean;
  /** Somebody went to this line. */
  readonly current: boolean;
  readonly onToggle: () => void;
}

function Line({ line, day, top, find, fold, open, current, onToggle }: LineProps) {
  const level = (line.level ?? "").replace("LOG_LEVEL_", "");
  const tone = level === "ERROR" || level === "CRITICAL" ? "error" : level === "WARNING" ? "warning" : "";
  return (
    <div className={`line ${tone} ${current ? "current" : ""}`} style={{ top }}>
      <time dateTime={line.timestamp} title={line.timestamp}>
        {day.padEnd(6)} {clockText(line.timestamp).padEnd(12)}
      </time>
      <span>{line.rankId === undefined || line.rankId === null ? (line.source ?? "").padEnd(6).slice(0, 6) : `rank ${line.rankId}`}</span>
      {fold === undefined || open ? <Text line={line.log} find={find} /> : <span className="text raised">{fold.raised}</span>}
      {fold !== undefined && (
        <button type="button" className="text" aria-expanded={open} onClick={onToggle}>
          {open ? "Fold" : `Show ${count(fold.hidden.length + 1, "line")}`}
        </button>
      )}
    </div>
  );
}

/** Colours that are the program's own; the page's ink keeps those legible that stand on its paper. */
const looks = (colour: string | undefined, back: string | undefined) => ({
  color: colour && (back ? colour : `color-mix(in srgb, ${colour} 65%, var(--ink))`),
  backgroundColor: back,
});

/** What a line says, in the colours that a terminal would give it. */
function Text({ line, find }: { line: string; find: string }) {
  return (
    <span className="text">
      {coloured(line, find).map(({ text, style, colour, back, found }, i) => {
        const plain = style === "" && colour === undefined && back === undefined;
        const part = plain ? (
          text
        ) : (
          <span className={style} style={looks(colour, back)}>
            {text}
          </span>
        );
        return found ? <mark key={i}>{part}</mark> : <Fragment key={i}>{part}</Fragment>;
      })}
    </span>
  );
}
