import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { stream } from "../api/client";
import { toApiError } from "../api/loadable";
import type { LogLine } from "../api/types";
import { printable } from "./format";
import { append, emptyLog, linesMax, type LogBlock, type LogBuffer } from "./log_buffer";

const Block = memo(({ block }: { block: LogBlock }) => <pre>{block.lines.join("\n")}</pre>);

/** What a trial printed, and what it prints: follows while it runs. */
export function Logs({ trialId, live }: { trialId: number; live: boolean }) {
  const [log, setLog] = useState<LogBuffer>(emptyLog);
  const [status, setStatus] = useState<"following" | "ended" | { problem: string }>("following");
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const liveAtStart = useRef(live);

  useEffect(() => {
    const abort = new AbortController();
    let waiting: string[] = [];
    let frame = 0;
    // Many lines may arrive within one frame of the screen: one update for all.
    const flush = () => {
      frame = 0;
      const lines = waiting;
      waiting = [];
      setLog((before) => append(before, lines));
    };
    const onLines = (lines: LogLine[]) => {
      for (const line of lines) waiting.push(printable(line.message));
      if (waiting.length > linesMax) waiting = waiting.slice(-linesMax);
      if (frame === 0) frame = requestAnimationFrame(flush);
    };
    setLog(emptyLog);
    setStatus("following");
    stream<LogLine>(`trials/${trialId}/logs`, { follow: liveAtStart.current }, abort.signal, onLines).then(
      () => !abort.signal.aborted && setStatus("ended"),
      (cause: unknown) => !abort.signal.aborted && setStatus({ problem: toApiError(cause).message }),
    );
    return () => {
      abort.abort();
      cancelAnimationFrame(frame);
    };
  }, [trialId]);

  useLayoutEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log]);

  const onScroll = () => {
    const element = box.current;
    if (element) atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
  };
  const empty = log.blocks.length === 0;
  return (
    <section aria-label="Logs">
      {log.dropped > 0 && (
        <p className="quiet">
          The first {log.dropped} lines are not shown; <code>det trial logs {trialId}</code> has them all.
        </p>
      )}
      <div className="logs" ref={box} onScroll={onScroll} tabIndex={0} role="log">
        {log.blocks.map((block) => (
          <Block key={block.id} block={block} />
        ))}
        {empty && <p className="quiet">{status === "following" ? "No lines yet." : "No lines."}</p>}
      </div>
      {typeof status === "object" && (
        <p className="problem" role="alert">
          {status.problem}
        </p>
      )}
      {status === "ended" && !empty && <p className="quiet">The log ends here.</p>}
    </section>
  );
}
