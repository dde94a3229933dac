import { expect, test } from "vitest";
import { Lease } from "./lease";

function shelf() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
}

test("two windows have a place, a third one gets it when one leaves or falls silent", () => {
  const shared = shelf();
  const [a, b, c] = [new Lease("stream", shared), new Lease("stream", shared), new Lease("stream", shared)];
  expect([a.take(0), b.take(0), c.take(0)]).toEqual([true, true, false]);
  expect([a.take(9_000), c.take(9_000)]).toEqual([true, false]);
  a.release();
  expect(c.take(9_001)).toBe(true);
  expect(a.take(9_002)).toBe(false);
  expect(a.take(10_001)).toBe(true); // b was silent
});

test("without storage there is no place", () => {
  expect(new Lease("stream", undefined).take(0)).toBe(false);
  const broken = { ...shelf(), getItem: () => { throw new Error("denied"); } }; // prettier-ignore
  expect(new Lease("stream", broken).take(0)).toBe(false);
});
