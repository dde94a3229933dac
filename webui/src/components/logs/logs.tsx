import { Fragment, useDeferredValue, useLayoutEffect, useRef, useState } from "react";
import type { LogLine } from "../../api/types";
import { coloured } from "./ansi";
import { clockText, fieldOf, newDay, timeOf, zoneText } from "./clock";
import { count } from "../format";
import { filterOf, levels } from "./log_filter";
import { type LogOf, useLog } from "./log_source";
import { visible } from "./log_window";
import { Choice, Problem } from "../parts";
import { useQuery } from "../address/route";
import { SearchField } from "../forms/search_field";

const lineHeight = 18;
/** What a task printed, and what it prints: follows while it runs, reads back as far as one scrolls. `command` shows the same in a terminal. */
export function Logs({ of, command, live }: { of: LogOf; command: string; live: boolean }) {
  const [query, change] = useQuery();
  // Of a task that ends while one looks the last lines are still to come.
  const [follow] = useState(live);
  const from = query.from === "start" || query.since ? "start" : "end";
  const log = useLog(of, filterOf(query), from, follow, live);
  const { window, status } = log;
  const zone = zoneText(new Date());
  const filtered = Boolean(query.find || query.rank || query.level || query.since);
  return (
    <section aria-label="Logs">
      <search className="row filters">
        <SearchField
          text={query.find ?? ""}
          onSearch={(find) => change({ find })}
          placeholder="Search logs"
          label="Search logs"
        />
        <Choice
          label="Level"
          value={query.level ?? ""}
          options={[["", "all"], ...levels.slice(1).map((level) => [level, `${level.toLowerCase()} and above`] as const)]}
          onChange={(level) => change({ level })}
        />
        <label className="choice">
          <span>Rank</span>
          <input
            type="number"
            min={0}
            className="rank"
            placeholder="all"
            value={query.rank ?? ""}
            onChange={(event) => change({ rank: event.target.value })}
          />
        </label>
        <label className="choice" title={`In this browser's time zone, ${zone}`}>
          <span>Since</span>
          <input
            type="datetime-local"
            step={1}
            value={fieldOf(query.since, "seconds")}
            onChange={(event) => change({ since: timeOf(event.target.value) })}
          />
        </label>
        <div className="actions">
          <button type="button" aria-pressed={from === "start"} onClick={() => change({ from: "start" })}>
            From start
          </button>
          <button type="button" aria-pressed={from === "end"} onClick={() => change({ from: "", since: "" })}>
            {follow ? "Follow" : "From end"}
          </button>
        </div>
      </search>
      <Lines
        lines={window.lines}
        stick={from === "end"}
        find={query.find ?? ""}
        onTop={window.moreBefore ? log.older : undefined}
        onBottom={window.moreAfter ? log.newer : undefined}
        empty={status === "loading" ? "Loading logs …" : filtered ? "No log lines match these filters." : status === "following" ? "No log lines yet." : "No log lines."}
      />
      <Problem text={log.problem} />
      <p className="quiet row" role="status">
        <span>
          {count(window.lines.length, "line")} loaded{window.moreBefore && "; scroll up for older lines"}
          {window.moreAfter && "; scroll down for newer lines"}
        </span>
        <span>{status === "following" ? "Following." : ""}</span>
        <span>Times are in this browser's time zone, {zone}.</span>
        <code>{command}</code>
      </p>
    </section>
  );
}

interface LinesProps {
  readonly lines: readonly LogLine[];
  /** Stays at the end while it is there. */
  readonly stick: boolean;
  readonly find: string;
  readonly onTop: (() => void) | undefined;
  readonly onBottom: (() => void) | undefined;
  readonly empty: string;
}

/** Lines of equal height, of which only those on the screen are in the page. */
function Lines({ lines: newest, stick, find, onTop, onBottom, empty }: LinesProps) {
  const lines = useDeferredValue(newest);
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
  const [from, to] = visible(lines.length, lineHeight, view.top, view.height);
  // The topmost line says its day, too.
  const top = Math.ceil(view.top / lineHeight);
  return (
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
          />
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  readonly line: LogLine;
  /** Where it is another than that of the line before, and on top. */
  readonly day: string;
  readonly top: number;
  readonly find: string;
}

function Line({ line, day, top, find }: LineProps) {
  const level = (line.level ?? "").replace("LOG_LEVEL_", "");
  const tone = level === "ERROR" || level === "CRITICAL" ? "error" : level === "WARNING" ? "warning" : "";
  return (
    <div className={`line ${tone}`} style={{ top }}>
      <time dateTime={line.timestamp} title={line.timestamp}>
        {day.padEnd(6)} {clockText(line.timestamp).padEnd(12)}
      </time>
      <span>{line.rankId === undefined || line.rankId === null ? (line.source ?? "").padEnd(6).slice(0, 6) : `rank ${line.rankId}`}</span>
      <Text line={line.log} find={find} />
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
