import { expect, test } from "vitest";
import { allocationsAddress, formatHours, groupsOf, historyCsv, largest, periodsOf, rangeOf, roundUp, sumsAddress } from "./history";

const now = Date.parse("2026-11-22T13:00:00Z");

test.each([
  [{}, { from: "2026-10-24", to: "2026-11-22", period: "day" }],
  [{ range: "7" }, { from: "2026-11-16", to: "2026-11-22", period: "day" }],
  [{ range: "90", period: "month" }, { from: "2026-08-25", to: "2026-11-22", period: "month" }],
  [{ range: "year" }, { from: "2025-12-01", to: "2026-11-22", period: "month" }],
  [{ from: "2026-01-30", to: "2026-02-02" }, { from: "2026-01-30", to: "2026-02-02", period: "day" }],
  [{ from: "2000-01-01", to: "2026-02-02" }, { from: "2000-01-01", to: "2026-02-02", period: "month" }],
  [{ from: "2026-02-30", to: "2026-03-02" }, { from: "2026-10-24", to: "2026-11-22", period: "day" }],
  [{ from: "2026-03-02", to: "2026-02-02", range: "x" }, { from: "2026-10-24", to: "2026-11-22", period: "day" }],
])("the address %j looks at %j", (query, range) => {
  expect(rangeOf(query as Record<string, string>, now)).toEqual(range);
});

test("the last day is asked for as a whole", () => {
  const range = { from: "2026-01-30", to: "2026-01-31", period: "day" } as const;
  expect(sumsAddress(range)).toBe(
    "/resources/allocation/aggregated?startDate=2026-01-30&endDate=2026-01-31&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY",
  );
  expect(allocationsAddress(range)).toMatch(/timestampAfter=2026-01-30T00:00:00Z&timestampBefore=2026-02-01T00:00:00Z$/);
});

test("days and months follow each other without a gap, over the end of a month and a year", () => {
  expect(periodsOf({ from: "2026-02-27", to: "2026-03-01", period: "day" })).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  expect(periodsOf({ from: "2025-11-30", to: "2026-01-01", period: "month" })).toEqual(["2025-11", "2025-12", "2026-01"]);
});

const csv = `aggregation_type,aggregation_key,date,seconds
total,total,2026-11-21,10800
username,ann,2026-11-21,3600
username,"bob, jr",2026-11-21,7200
username,ann,2026-11-22,18000
username,ann,2026-11-23,99
`;
const periods = ["2026-11-21", "2026-11-22"];

test("hours are those of the wanted groups and days, the largest group first", () => {
  expect(groupsOf(csv, "username", periods)).toEqual([
    { name: "ann", hours: [1, 5], total: 6 },
    { name: "bob, jr", hours: [2, 0], total: 2 },
  ]);
  expect(groupsOf(csv, "agent", periods)).toEqual([]);
});

test("many groups are the largest ones and the rest together; nothing is lost", () => {
  const groups = [4, 3, 2, 1].map((n) => ({ name: `g${n}`, hours: [n, 0], total: n }));
  expect(largest(groups, 4)).toEqual({ shown: groups, rest: undefined });
  const { shown, rest } = largest(groups, 3);
  expect(shown.map(({ name }) => name)).toEqual(["g4", "g3"]);
  expect(rest).toEqual({ name: "2 others", hours: [3, 0], total: 3 });
});

test.each([[0, 1], [0.013, 0.015], [1, 1], [2.1, 3], [5, 5], [7, 8], [90, 100], [120, 150]])("the axis for %d ends at %d", (value, top) => {
  expect(roundUp(value)).toBeCloseTo(top, 12);
});

test("the table for other programs has a row a day and a column a group", () => {
  expect(historyCsv(groupsOf(csv, "username", periods), periods)).toBe('date,ann,"bob, jr"\r\n2026-11-21,1,2\r\n2026-11-22,5,0\r\n');
});

test.each([[0, "0"], [0.0421, "0.042"], [1.25, "1.3"], [1234.5, "1,235"]])("%d hours read %s", (hours, text) => {
  expect(formatHours(hours)).toBe(text);
});
