import { useState } from "react";
import { fieldOf, timeOf, zoneText } from "./clock";
import { count } from "../format";
import { Lines } from "./lines";
import { filterOf, levels } from "./log_filter";
import { allLines, type LogOf, useLog } from "./log_source";
import { Choice, Problem } from "../parts";
import { useQuery } from "../address/route";
import { download } from "../forms/download";
import { SearchField } from "../forms/search_field";

/** What a task printed, and what it prints: follows while it runs, reads back as far as one scrolls. `command` shows the same in a terminal. */
export function Logs({ of, command, live }: { of: LogOf; command: string; live: boolean }) {
  const [query, change] = useQuery();
  // Of a task that ends while one looks the last lines are still to come.
  const [follow] = useState(live);
  const from = query.from === "start" || query.since ? "start" : "end";
  const log = useLog(of, filterOf(query), from, follow, live);
  const { window, status } = log;
  const zone = zoneText(new Date());
  const [saving, setSaving] = useState("");
  const save = async () => {
    setSaving("saving");
    try {
      download("trial" in of ? `trial-${of.trial}.log` : `${of.task}.log`, "text/plain", await allLines(of, filterOf(query)));
      setSaving("");
    } catch (cause) {
      setSaving(`Cannot download the log: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  };
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
          <button type="button" disabled={saving === "saving"} title="All lines that match the filters" onClick={() => void save()}>
            Download
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
      <Problem text={log.problem || (saving === "saving" ? "" : saving)} />
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
