import { useCallback, useEffect, useRef, useState } from "react";
import { type Query, stream } from "../../api/client";
import { toApiError } from "../../api/loadable";
import { repeat } from "../../api/repeat";
import type { LogLine } from "../../api/types";
import { append, emptyWindow, type LogWindow, prepend } from "./log_window";

const pageLines = 2000;
const pollMs = 300;

export interface LogSource {
  readonly window: LogWindow;
  readonly status: "loading" | "following" | "ended";
  readonly problem: string;
  /** Reads the page before the first line that is here. */
  readonly older: () => void;
  /** Reads the page after the last line that is here. */
  readonly newer: () => void;
}

/** Whose log. */
export type LogOf = { readonly trial: number } | { readonly task: string };
export type LogQuery = Query<"/api/v1/trials/{trialId}/logs">;

const read = (of: LogOf, query: LogQuery, signal: AbortSignal, take: (lines: LogLine[]) => void): Promise<void> =>
  "trial" in of
    ? stream("/api/v1/trials/{trialId}/logs", { path: { trialId: of.trial }, query }, signal, take)
    : stream("/api/v1/tasks/{taskId}/logs", { path: { taskId: of.task }, query }, signal, take);

async function page(of: LogOf, query: LogQuery, signal: AbortSignal): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  await read(of, { ...query, limit: pageLines }, signal, (some) => lines.push(...some));
  return lines;
}

/** A log as text, a line each: when, which rank or who, and what. */
export async function allLines(of: LogOf, filter: LogQuery): Promise<string> {
  const parts: string[] = [];
  await read(of, filter, new AbortController().signal, (lines) => {
    for (const { timestamp, rankId, source, log } of lines) parts.push(`${timestamp} ${rankId === undefined || rankId === null ? (source ?? "") : `rank ${rankId}`} ${log.replace(/\n$/, "")}\n`);
  });
  return parts.join("");
}

/**
 * A log, from its end or from its beginning, filtered by the master. Where `follow`, new lines are asked for
 * several times a second and drawn once a frame; when it is not `live` any more, the master says when the last one was written.
 */
export function useLog(of: LogOf, filter: LogQuery, from: "end" | "start", follow: boolean, live: boolean): LogSource {
  const key = JSON.stringify([of, filter, from, follow]);
  const [window, setWindow] = useState<LogWindow>(emptyWindow);
  const [status, setStatus] = useState<LogSource["status"]>("loading");
  const [problem, setProblem] = useState("");
  const busy = useRef(false);
  const goesOn = useRef(live);
  goesOn.current = live;
  const abort = useRef(new AbortController());

  useEffect(() => {
    const mine = new AbortController();
    abort.current = mine;
    busy.current = false;
    const { signal } = mine;
    let waiting: LogLine[] = [];
    let frame = 0;
    const flush = () => {
      frame = 0;
      const lines = waiting;
      waiting = [];
      setWindow((before) => append(before, lines));
    };
    const run = async () => {
      setStatus("loading");
      setProblem("");
      const order = from === "end" ? { orderBy: "ORDER_BY_DESC" } : {};
      const first = await page(of, { ...filter, ...order }, signal);
      const more = first.length === pageLines;
      const lines = from === "end" ? first.reverse() : first;
      setWindow({ lines, moreBefore: from === "end" && more, moreAfter: from === "start" && more });
      if (!follow || from === "start") return setStatus("ended");
      setStatus("following");
      let after = lines.at(-1)?.id ?? "0";
      const take = (some: LogLine[]) => {
        after = some.at(-1)?.id ?? after;
        waiting.push(...some);
        if (frame === 0) frame = requestAnimationFrame(flush);
      };
      const readNew = async () => {
        // Of a task that is over, this stream ends as soon as all that it wrote is there.
        const last = !goesOn.current;
        await read(of, { ...filter, afterId: after, ...(last ? { follow: true } : {}) }, signal, take);
        return last ? "last" : "again";
      };
      await repeat(readNew, pollMs, signal, setProblem);
      setStatus("ended");
    };
    setWindow(emptyWindow);
    run().catch((cause: unknown) => {
      if (signal.aborted) return;
      setProblem(toApiError(cause).message);
      setStatus("ended");
    });
    return () => {
      mine.abort();
      cancelAnimationFrame(frame);
    };
    // The key holds all that decides what is read.
  }, [key]);

  const latest = useRef(window);
  latest.current = window;
  const turn = useCallback(
    (way: "older" | "newer") => {
      const { lines } = latest.current;
      const edge = way === "older" ? lines[0] : lines.at(-1);
      if (busy.current || edge === undefined) return;
      busy.current = true;
      const { signal } = abort.current;
      const bounds = way === "older" ? { beforeId: edge.id, orderBy: "ORDER_BY_DESC" } : { afterId: edge.id };
      page(of, { ...filter, ...bounds }, signal)
        .then((found) => {
          const more = found.length === pageLines;
          setWindow((before) =>
            way === "older" ? prepend(before, found.reverse(), more) : { ...append(before, found), moreAfter: more },
          );
        })
        .catch((cause: unknown) => !signal.aborted && setProblem(toApiError(cause).message))
        .finally(() => {
          if (abort.current.signal === signal) busy.current = false;
        });
    },
    [key],
  );
  return {
    window,
    status,
    problem,
    older: useCallback(() => turn("older"), [turn]),
    newer: useCallback(() => turn("newer"), [turn]),
  };
}
