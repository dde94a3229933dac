import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Changes, type Topic } from "./changes";
import { ApiError } from "./client";

class Page extends EventTarget {
  hidden = false;
  turn(hidden: boolean) {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}
let page: Page;
beforeEach(() => {
  page = new Page();
  vi.stubGlobal("document", page);
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A master whose streams are open until they are given up, or `fails`. */
function master(place = { take: () => true, release: () => undefined }) {
  const asked: string[] = [];
  let open = 0;
  let tell: (names: readonly string[]) => void = () => undefined;
  let fail: (cause: unknown) => void = () => undefined;
  const changes = new Changes(
    (topics, signal, changed) =>
      new Promise((_, reject) => {
        asked.push(topics.join());
        open += 1;
        [tell, fail] = [changed, reject];
        changed([]);
        signal.addEventListener("abort", () => reject(new DOMException("given up", "AbortError")));
      }).finally(() => {
        open -= 1;
      }) as Promise<void>,
    place,
  );
  return { changes, asked, open: () => open, tell: (...names: Topic[]) => tell(names), fail: () => fail(new ApiError(0, "away")) };
}

test("one stream tells all parts of a page, each of what it asked for", async () => {
  const it = master();
  const heard: string[] = [];
  it.changes.on(["trial 7"], () => heard.push("chart"));
  it.changes.on(["trial 7", "experiment 2"], () => heard.push("head"));
  await vi.advanceTimersByTimeAsync(100);
  expect(it.asked).toEqual(["experiment 2,trial 7"]);
  it.tell("experiment 2", "trial 7");
  expect(heard).toEqual(["head", "chart"]);
  it.tell("trial 7");
  expect(heard.slice(2)).toEqual(["chart", "head"]);
});

test("who leaves hears nothing, and the last one ends the stream", async () => {
  const it = master();
  const heard: string[] = [];
  const leave = it.changes.on(["experiments"], () => heard.push("list"));
  await vi.advanceTimersByTimeAsync(100);
  expect([it.open(), it.changes.works()]).toEqual([1, true]);
  leave();
  it.tell("experiments");
  await vi.advanceTimersByTimeAsync(100);
  expect([it.open(), it.changes.works(), heard]).toEqual([0, false, []]);
});

test("when the stream breaks, all that relied on it are told once, for the master may be gone", async () => {
  const it = master();
  const heard: string[] = [];
  it.changes.on(["trial 7"], () => heard.push(`chart, works: ${it.changes.works()}`));
  it.changes.on(["experiment 2"], () => heard.push(`head, works: ${it.changes.works()}`));
  await vi.advanceTimersByTimeAsync(100);
  it.fail();
  await vi.advanceTimersByTimeAsync(10);
  expect(heard).toEqual(["head, works: false", "chart, works: false"]);
});

test("a hidden page has no stream, and one again when it is seen", async () => {
  const it = master();
  it.changes.on(["experiments"], () => undefined);
  await vi.advanceTimersByTimeAsync(100);
  page.turn(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([it.open(), it.changes.works()]).toEqual([0, false]);
  page.turn(false);
  await vi.advanceTimersByTimeAsync(6_000);
  expect([it.open(), it.asked.length]).toEqual([1, 2]);
});

test("a stream that ends is opened again after a while", async () => {
  const it = master();
  it.changes.on(["experiments"], () => undefined);
  await vi.advanceTimersByTimeAsync(100);
  it.fail();
  await vi.advanceTimersByTimeAsync(100);
  expect([it.open(), it.changes.works()]).toEqual([0, false]);
  await vi.advanceTimersByTimeAsync(6_000);
  expect([it.open(), it.changes.works()]).toEqual([1, true]);
});

test("a window without a place has no stream until it gets one", async () => {
  let free = false;
  const it = master({ take: () => free, release: () => undefined });
  it.changes.on(["experiments"], () => undefined);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([it.open(), it.changes.works()]).toEqual([0, false]);
  free = true;
  await vi.advanceTimersByTimeAsync(6_000);
  expect([it.open(), it.changes.works()]).toEqual([1, true]);
});
