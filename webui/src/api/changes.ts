/**
 * What a page shows is loaded again when the master says that it has changed: one stream for the whole page, while it
 * is visible, tells of everything that its parts want to hear of. At most two windows of a browser have one; the others,
 * and those whose stream is broken, ask in their usual pace.
 */

import { ApiError, stream } from "./client";
import { Lease, renewMs } from "./lease";
import { rest } from "./repeat";

export type Topic = "cluster" | "experiments" | `experiment ${number}` | `trial ${number}`;

type Heard = () => void;
/** Opens a stream of the names of what changed; returns when it ends. */
type Listen = (topics: readonly Topic[], signal: AbortSignal, changed: (names: readonly string[]) => void) => Promise<void>;

/** Parts of a page come and go together: the stream is not opened anew for each. */
const settleMs = 50;
const retryMs = 5_000;

export class Changes {
  private readonly listeners = new Map<Topic, Set<Heard>>();
  private open: AbortController | undefined;
  private opened = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private begun = false;

  constructor(
    private readonly listen: Listen,
    private readonly place: Pick<Lease, "take" | "release">,
  ) {}

  /** Calls `heard` when one of these has changed, until the returned function is called. */
  on(topics: readonly Topic[], heard: Heard): () => void {
    for (const topic of topics) this.listeners.set(topic, (this.listeners.get(topic) ?? new Set()).add(heard));
    this.settle();
    return () => {
      for (const topic of topics) {
        const those = this.listeners.get(topic);
        those?.delete(heard);
        if (those?.size === 0) this.listeners.delete(topic);
      }
      this.settle();
    };
  }

  /** Whether a stream is open. */
  works(): boolean {
    return this.begun;
  }

  private settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.follow(), settleMs);
  }

  private async follow() {
    const topics = [...this.listeners.keys()].sort();
    if (topics.join() === this.opened) return;
    this.opened = topics.join();
    this.open?.abort();
    if (topics.length === 0) return;
    const abort = new AbortController();
    this.open = abort;
    while (!abort.signal.aborted) {
      if (document.hidden) await rest(0, abort.signal);
      try {
        if (!abort.signal.aborted && this.place.take(Date.now())) await this.untilHidden(topics, abort.signal);
      } catch (cause) {
        if (!(cause instanceof ApiError) && !abort.signal.aborted) throw cause;
      }
      await rest(retryMs, abort.signal);
    }
  }

  private async untilHidden(topics: readonly Topic[], signal: AbortSignal) {
    const visible = new AbortController();
    const hide = () => document.hidden && visible.abort();
    const give = () => visible.abort();
    document.addEventListener("visibilitychange", hide);
    signal.addEventListener("abort", give);
    if (signal.aborted) visible.abort();
    const renewal = setInterval(() => this.place.take(Date.now()), renewMs);
    try {
      await this.listen(topics, visible.signal, (names) => {
        this.begun = !visible.signal.aborted;
        this.tell(names);
      });
    } catch (cause) {
      if (!visible.signal.aborted) throw cause;
    } finally {
      const broke = this.begun && !visible.signal.aborted;
      this.begun = false;
      // Parts that relied on it ask at once: the master may be gone, and another one lead.
      if (broke) this.tell(topics);
      clearInterval(renewal);
      this.place.release();
      document.removeEventListener("visibilitychange", hide);
      signal.removeEventListener("abort", give);
    }
  }

  private tell(names: readonly string[]) {
    const heard = new Set(names.flatMap((name) => [...(this.listeners.get(name as Topic) ?? [])]));
    for (const one of heard) one();
  }
}

function idsOf(topics: readonly Topic[], kind: "experiment" | "trial"): number[] {
  return topics.filter((topic) => topic.startsWith(`${kind} `)).map((topic) => Number(topic.slice(kind.length + 1)));
}

export const changes = new Changes(
  (topics, signal, changed) =>
    stream(
      "/api/v1/changes/follow",
      {
        query: {
          experiments: topics.includes("experiments"),
          cluster: topics.includes("cluster"),
          experimentIds: idsOf(topics, "experiment"),
          trialIds: idsOf(topics, "trial"),
        },
      },
      signal,
      (items) => changed(items.flatMap((item) => item.changed ?? [])),
    ),
  new Lease("det-changes", globalThis.localStorage),
);
