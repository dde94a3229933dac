import { useState } from "react";
import { usePolled } from "../../api/loadable";
import { count, formatDuration } from "../../components/format";
import { Loaded, Panel } from "../../components/parts";
import { loadTimeline } from "./api";
import { type EventKind, type Happened, type Timeline, timelineOf } from "./timeline";

interface Props {
  readonly id: number;
  readonly taskId: string;
  readonly metric: string;
  readonly live: boolean;
}

const pollMs = 5000;
const eventsShown = 40;
const words: Readonly<Record<EventKind, string>> = { queued: "queue", started: "start", validated: "validation", saved: "checkpoint", note: "note", ended: "end" };

/** When the trial waited and ran, as bars, and what happened, as a list. */
export function TimelinePanel({ id, taskId, metric, live }: Props) {
  const [loaded] = usePolled(`timeline ${id}`, (signal) => loadTimeline(id, taskId, metric, signal), pollMs, () => live, { topics: [`trial ${id}`], leastMs: 2000 });
  return (
    <Panel title="Timeline">
      <Loaded of={loaded} what="timeline">
        {(sources) => {
          const timeline = timelineOf(sources, Date.now());
          if (timeline.events.length === 0) return <p className="quiet">Nothing has happened yet.</p>;
          return (
            <>
              <Lanes of={timeline} />
              <Events of={timeline} />
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

function Lanes({ of: { begin, end, lanes, events } }: { of: Timeline }) {
  const share = (time: number) => `${((time - begin) / (end - begin)) * 100}%`;
  const width = (from: number, to: number) => `${Math.max(((to - from) / (end - begin)) * 100, 0.15)}%`;
  return (
    <div className="timeline" role="img" aria-label={`${count(lanes.length, "run")} in ${formatDuration(end - begin)}`}>
      {lanes.map(({ run, requested, started, ended, slots }) => (
        <div key={run} className="lane">
          <span className="quiet">Run {run}</span>
          <div className="track">
            <span className="queued" style={{ left: share(requested), width: width(requested, started ?? ended ?? end) }} title={`Queued for ${formatDuration((started ?? ended ?? end) - requested)}`} />
            {started !== undefined && (
              <span className="running" style={{ left: share(started), width: width(started, ended ?? end) }} title={`Ran for ${formatDuration((ended ?? end) - started)}${slots > 0 ? ` on ${count(slots, "slot")}` : ""}`} />
            )}
            {events
              .filter((event) => event.run === run && (event.kind === "validated" || event.kind === "saved"))
              .map((event) => (
                <span key={`${event.kind} ${event.time} ${event.text}`} className={event.kind} style={{ left: share(event.time) }} title={`${clock(event.time)} ${event.text}`} />
              ))}
          </div>
        </div>
      ))}
      <div className="lane quiet">
        <span />
        <div className="scale">
          <span>{clock(begin)}</span>
          <span className="legend">
            <i className="queued" /> queued <i className="running" /> running <i className="validated" /> validation <i className="saved" /> checkpoint
          </span>
          <span>{clock(end)}</span>
        </div>
      </div>
    </div>
  );
}

const clock = (time: number): string => new Date(time).toLocaleTimeString("en-GB");

function Events({ of: { events } }: { of: Timeline }) {
  const [all, setAll] = useState(false);
  // The newest are what one looks for first.
  const newest = [...events].reverse();
  const shown = all ? newest : newest.slice(0, eventsShown);
  return (
    <div className="table">
      <table aria-label="What happened">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Kind</th>
            <th scope="col">What happened</th>
            <th scope="col" className="number">
              After
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((event, index) => (
            <Row key={`${event.time} ${event.kind} ${event.text}`} event={event} before={newest[index + 1]} />
          ))}
        </tbody>
      </table>
      {!all && events.length > eventsShown && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {events.length}
        </button>
      )}
    </div>
  );
}

function Row({ event: { time, kind, text }, before }: { event: Happened; before: Happened | undefined }) {
  return (
    <tr>
      <td title={new Date(time).toISOString()}>{clock(time)}</td>
      <td className="quiet">{words[kind]}</td>
      <td>{text}</td>
      <td className="number">{before === undefined ? "" : formatDuration(time - before.time)}</td>
    </tr>
  );
}
