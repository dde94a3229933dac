import { Fragment, useEffect, useState } from "react";
import { stream } from "../../api/client";
import { toApiError } from "../../api/loadable";
import { repeat } from "../../api/repeat";
import { printable } from "../../components/logs/ansi";
import { momentText, zoneText } from "../../components/logs/clock";
import { Problem } from "../../components/parts";
import { continued, offsetAfter, type OwnLine } from "./own_log";

const pollMs = 1000;

async function linesFrom(offset: number, signal: AbortSignal): Promise<OwnLine[]> {
  const lines: OwnLine[] = [];
  await stream("/api/v1/master/logs", { query: { offset: String(offset) } }, signal, (items) => lines.push(...items.map(({ logEntry }) => logEntry)));
  return lines;
}

/** The newest lines of the master's own log, and new ones as they come. */
export function MasterLog() {
  const [lines, setLines] = useState<readonly OwnLine[]>([]);
  const [complete, setComplete] = useState(false);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    let here: readonly OwnLine[] = [];
    const read = async () => {
      here = continued(here, await linesFrom(offsetAfter(here), abort.signal)) ?? (await linesFrom(offsetAfter([]), abort.signal));
      setLines(here);
      setComplete(true);
      return "again" as const;
    };
    repeat(read, pollMs, abort.signal, setProblem).catch((cause: unknown) => !abort.signal.aborted && setProblem(toApiError(cause).message));
    return () => abort.abort();
  }, []);
  return (
    <section aria-label="Master log">
      <Problem text={problem} />
      {lines.length === 0 && problem === "" && <p className="quiet">{complete ? "No log lines yet." : "Loading logs …"}</p>}
      {lines.length > 0 && (
        <>
          <pre className="code" tabIndex={0}>
            {lines.map(({ id, timestamp, level, message }) => (
              <Fragment key={id}>
                <time dateTime={timestamp} title={timestamp}>
                  {momentText(timestamp)}
                </time>
                {` ${level.replace("LOG_LEVEL_", "").toLowerCase()} ${printable(message)}\n`}
              </Fragment>
            ))}
          </pre>
          <p className="quiet">Times are in this browser's time zone, {zoneText(new Date())}.</p>
        </>
      )}
    </section>
  );
}
