import { useCallback, useEffect, useRef, useState } from "react";
import { changes, type Topic } from "./changes";
import { ApiError } from "./client";
import { rest, seldom, soonAfter } from "./repeat";

/** A value that is on its way, here, or not coming. */
export type Loadable<T> =
  | { readonly status: "loading" }
  | { readonly status: "loaded"; readonly value: T; readonly stale?: ApiError }
  | { readonly status: "failed"; readonly error: ApiError };

/** What is loaded once only is asked for again so long after the master was away. */
const afterFailureMs = 1000;

export function toApiError(cause: unknown): ApiError {
  return cause instanceof ApiError ? cause : new ApiError(0, String(cause));
}

/** What to show after a failed refresh: the last good value with a remark, if there is one. */
export function afterFailure<T>(before: Loadable<T>, error: ApiError): Loadable<T> {
  if (before.status !== "loaded" || error.status === 404) return { status: "failed", error };
  return { status: "loaded", value: before.value, stale: error };
}

/**
 * Loads a value and loads it again every `everyMs` while the page is visible,
 * at once when it is seen again after that time, as long as `live` says that it may still change. With `pushed`, also when the
 * master says that it has changed. `key` names what is loaded: a new key begins from nothing. Returns the value and a way to load
 * it at once.
 */
export function usePolled<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs: number | ((value: T | undefined) => number),
  live: (value: T) => boolean = () => true,
  pushed?: { readonly topics: readonly Topic[]; readonly leastMs: number },
): readonly [Loadable<T>, () => void] {
  const [state, setState] = useState<{ key: string; value: Loadable<T> }>({ key, value: { status: "loading" } });
  const [round, setRound] = useState(0);
  const latest = useRef({ load, live, everyMs });
  latest.current = { load, live, everyMs };
  const { leastMs = 0, topics = [] } = pushed ?? {};
  const heardOf = topics.join();

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const current = (before: { key: string; value: Loadable<T> }): Loadable<T> =>
      before.key === key ? before.value : { status: "loading" };
    let value: T | undefined;
    let loading = false;
    let changed = false; // while it was being loaded
    let again = true;
    let begun = 0;
    let took = 0;
    const hear = () => {
      if (!again || abort.signal.aborted) return;
      changed = true;
      if (loading) return;
      clearTimeout(timer);
      timer = setTimeout(() => void run(), Math.max(0, begun + soonAfter(leastMs, took) - performance.now()));
    };
    const next = (more: boolean, afterMs = 0) => {
      again = more;
      loading = false;
      took = performance.now() - begun;
      if (!again || abort.signal.aborted) return;
      if (changed) return hear();
      const { everyMs: pause } = latest.current;
      const usual = typeof pause === "number" ? pause : pause(value);
      timer = setTimeout(() => void run(), Math.max(afterMs, heardOf !== "" && changes.works() ? seldom * usual : usual));
    };
    const run = async () => {
      if (document.hidden) await rest(0, abort.signal);
      if (abort.signal.aborted) return;
      [loading, changed, begun] = [true, false, performance.now()];
      try {
        const loaded = await latest.current.load(abort.signal);
        if (abort.signal.aborted) return;
        value = loaded;
        setState({ key, value: { status: "loaded", value: loaded } });
        next(latest.current.live(loaded));
      } catch (cause) {
        if (abort.signal.aborted) return;
        const error = toApiError(cause);
        setState((before) => ({ key, value: afterFailure(current(before), error) }));
        next(error.status === 0 || error.status >= 500, afterFailureMs);
      }
    };
    void run();
    const deaf = heardOf === "" ? undefined : changes.on(heardOf.split(",") as Topic[], hear);
    return () => {
      deaf?.();
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, round, heardOf, leastMs]);

  const reload = useCallback(() => setRound((n) => n + 1), []);
  return [state.key === key ? state.value : { status: "loading" }, reload];
}
