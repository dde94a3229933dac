import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "./client";
import { repeat, restAfter } from "./repeat";

/** A page that can be looked at and away from. */
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

/** Reads until the `last` time; what it heard of trouble. */
function reading(last: number, fails: (time: number) => Error | undefined = () => undefined) {
  const heard: string[] = [];
  const stop = new AbortController();
  let times = 0;
  const read = async () => {
    times += 1;
    const failure = fails(times);
    if (failure) throw failure;
    return times >= last ? ("last" as const) : ("again" as const);
  };
  const end = repeat(read, 1000, stop.signal, (text) => heard.push(text));
  return { heard, stop, end, times: () => times };
}

test("reads in its pace until it was the last time", async () => {
  const it = reading(3);
  await vi.advanceTimersByTimeAsync(900);
  expect(it.times()).toBe(1);
  await vi.advanceTimersByTimeAsync(2000);
  await it.end;
  expect(it.times()).toBe(3);
});

test("where a bell rings it is read at once, but not without end; the rest of the time it is rarely read", async () => {
  let ring = () => {};
  const bell = { on: (heard: () => void) => ((ring = heard), () => undefined), leastMs: 100, works: () => true };
  let times = 0;
  const stop = new AbortController();
  const end = repeat(async () => ((times += 1), "again" as const), 1000, stop.signal, () => undefined, bell);
  await vi.advanceTimersByTimeAsync(4_900);
  expect(times).toBe(1);
  ring();
  await vi.advanceTimersByTimeAsync(10);
  expect(times).toBe(2);
  for (let at = 0; at < 100; at += 1) {
    ring();
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(times).toBeGreaterThan(10);
  expect(times).toBeLessThan(14);
  stop.abort();
  await end;
});

test("a hidden page asks nothing, and asks at once when it is seen again", async () => {
  const it = reading(99);
  await vi.advanceTimersByTimeAsync(10);
  page.turn(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(it.times()).toBe(1);
  page.turn(false);
  await vi.advanceTimersByTimeAsync(0);
  expect(it.times()).toBe(2);
  it.stop.abort();
  await it.end;
});

test("a page that is opened in the background waits until it is seen", async () => {
  page.hidden = true;
  const it = reading(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(it.times()).toBe(0);
  page.turn(false);
  await it.end;
  expect(it.times()).toBe(1);
});

test("a master that is away is asked again, and one hears so", async () => {
  const it = reading(3, (time) => (time === 2 ? new ApiError(0, "Away.") : undefined));
  await vi.advanceTimersByTimeAsync(3000);
  await it.end;
  expect(it.heard).toEqual(["", "Away. Updates resume when it is reachable again.", ""]);
});

test("what is refused is not asked again", async () => {
  const it = reading(3, () => new ApiError(404, "trial 7 not found"));
  await expect(it.end).rejects.toThrow("trial 7 not found");
});

test("who gives up is asked nothing more", async () => {
  const it = reading(99);
  await vi.advanceTimersByTimeAsync(10);
  it.stop.abort();
  await it.end;
  expect(it.times()).toBe(1);
});

test.each([
  [1000, 20, 1000],
  [1000, 2000, 18_000],
])("asked every %i ms, an answer that takes %i ms is asked for again after %i ms", (usual, took, expected) => {
  expect(restAfter(usual, took)).toBe(expected);
});
