/**
 * Questions that are asked again and again, at once where the master says that there is something new. None is held open,
 * because a browser opens only a few connections to one server; `changes.ts` has the only stream.
 */

import { ApiError } from "./client";

/** How long to wait before an answer that took so long is asked for again: never more than a tenth of the time is spent on it. */
export const restAfter = (usualMs: number, tookMs: number): number => Math.max(usualMs, 9 * tookMs);

/** Resolves after a time, and not before somebody looks at the page; at once when it is given up. */
export function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", end);
      done();
    };
    const look = () => {
      if (!document.hidden) end();
    };
    const timer = setTimeout(() => (document.hidden ? document.addEventListener("visibilitychange", look) : end()), ms);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
}

/** Loading takes a quarter of the time at most, however often it is rung for. */
export const soonAfter = (leastMs: number, tookMs: number): number => Math.max(leastMs, 4 * tookMs);

/** Calls `ring` when there is something new, until the returned function is called. */
export interface Bell {
  readonly on: (ring: () => void) => () => void;
  /** Between two readings. */
  readonly leastMs: number;
  /** Whether it would ring: then what nobody rings for is rarely read. */
  readonly works: () => boolean;
}

/** How much more seldom is read what a bell rings for. */
export const seldom = 5;

/**
 * Reads again and again while the page is visible, until `read` says that this was the last time. Where the master is
 * away it is asked again; `onTrouble` hears why nothing comes, an empty text: it comes again.
 */
export async function repeat(
  read: () => Promise<"again" | "last">,
  everyMs: number,
  signal: AbortSignal,
  onTrouble: (text: string) => void,
  bell?: Bell,
): Promise<void> {
  let rung = new AbortController();
  const deaf = bell?.on(() => rung.abort());
  try {
    if (document.hidden) await rest(0, signal);
    while (!signal.aborted) {
      const began = Date.now();
      rung = new AbortController();
      try {
        const what = await read();
        onTrouble("");
        if (what === "last" || signal.aborted) return;
      } catch (cause) {
        if (signal.aborted) return;
        if (!(cause instanceof ApiError) || !(cause.status === 0 || cause.status >= 500)) throw cause;
        onTrouble(`${cause.message} Updates resume when it is reachable again.`);
      }
      const took = Date.now() - began;
      await rest(restAfter(bell?.works() ? seldom * everyMs : everyMs, took), AbortSignal.any([signal, rung.signal]));
      const early = began + soonAfter(bell?.leastMs ?? 0, took) - Date.now();
      if (rung.signal.aborted && early > 0) await rest(early, signal);
    }
  } finally {
    deaf?.();
  }
}
