import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { clockText, fieldOf, momentText, newDay, timeOf, zoneText } from "./clock";

// Half an hour off, so that an hour alone is not enough to be right.
beforeEach(() => vi.stubEnv("TZ", "Asia/Kolkata"));
afterEach(() => vi.unstubAllEnvs());

test("times are the browser's, and say which zone that is", () => {
  expect(clockText("2026-11-24T20:05:07.12Z")).toBe("01:35:07.120");
  expect(momentText("2026-11-24T20:05:07Z")).toBe("2026-11-25 01:35:07");
  expect(zoneText(new Date("2026-11-24T20:05:07Z"))).toBe("UTC+05:30");
  expect(clockText("")).toBe("");
});

test("west of Greenwich is less, Greenwich is nothing more", () => {
  vi.stubEnv("TZ", "America/New_York");
  expect(zoneText(new Date("2026-11-24T20:05:07Z"))).toBe("UTC\u221205:00");
  vi.stubEnv("TZ", "UTC");
  expect(zoneText(new Date("2026-11-24T20:05:07Z"))).toBe("UTC");
});

test.each([
  ["the first line has its day", "2026-11-24T10:00:00Z", undefined, "24 Nov"],
  ["the same day is not repeated", "2026-11-24T11:00:00Z", "2026-11-24T10:00:00Z", ""],
  ["the day changes at the browser's midnight", "2026-11-24T18:30:00Z", "2026-11-24T18:29:59Z", "25 Nov"],
  ["not at that of Greenwich", "2026-11-25T00:00:00Z", "2026-11-24T23:59:59Z", ""],
])("%s", (_, time, before, expected) => {
  expect(newDay(time, before)).toBe(expected);
});

test.each(["2026-11-24T20:05:07.000Z", "0002-11-24T20:05:07.000Z"])("what a field shows of %s is what it asks for", (time) => {
  expect(timeOf(fieldOf(time, "seconds"))).toBe(time);
});

test("a field of minutes has no seconds, and of no moment nothing", () => {
  expect(fieldOf("2026-11-24T20:05:07Z")).toBe("2026-11-25T01:35");
  expect(fieldOf(undefined)).toBe("");
  expect(timeOf("")).toBe("");
});
