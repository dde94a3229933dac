import { expect, test } from "vitest";
import type { UsageEntry } from "../../api/types";
import { allocationsAddress, formatCost, formatHours, groupsOf, historyCsv, largest, layersOf, periodsOf, rangeOf, roundUp, sumsQuery } from "./history";

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
  expect(sumsQuery(range)).toEqual({ startDate: "2026-01-30", endDate: "2026-01-31", period: "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY" });
  expect(allocationsAddress(range)).toMatch(/timestampAfter=2026-01-30T00:00:00Z&timestampBefore=2026-02-01T00:00:00Z$/);
});

test("days and months follow each other without a gap, over the end of a month and a year", () => {
  expect(periodsOf({ from: "2026-02-27", to: "2026-03-01", period: "day" })).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  expect(periodsOf({ from: "2025-11-30", to: "2026-01-01", period: "month" })).toEqual(["2025-11", "2025-12", "2026-01"]);
});

const entry = (periodStart: string, byUsername: Record<string, number>, costByUsername: Record<string, number>): UsageEntry => {
  const sum = (values: Record<string, number>) => Object.values(values).reduce((all, value) => all + value, 0);
  const none = { byExperimentLabel: {}, byResourcePool: {}, byAgentLabel: {}, byWorkspace: {} };
  const free = { costByExperimentLabel: {}, costByResourcePool: {}, costByAgentLabel: {}, costByWorkspace: {} };
  return { periodStart, period: "", seconds: sum(byUsername), cost: sum(costByUsername), byUsername, costByUsername, ...none, ...free };
};
const entries = [
  entry("2026-11-21", { ann: 3600, "bob, jr": 7200 }, { ann: 1, "bob, jr": 90 }),
  entry("2026-11-22", { ann: 18000 }, { ann: 5 }),
  entry("2026-11-23", { ann: 99 }, { ann: 99 }),
];
const periods = ["2026-11-21", "2026-11-22"];

test("hours and costs are those of the wanted groups and days", () => {
  const ann = { name: "ann", hours: { values: [1, 5], total: 6 }, cost: { values: [1, 5], total: 6 } };
  const bob = { name: "bob, jr", hours: { values: [2, 0], total: 2 }, cost: { values: [90, 0], total: 90 } };
  expect(groupsOf(entries, "username", periods, "hours")).toEqual([ann, bob]);
  expect(groupsOf(entries, "username", periods, "cost"), "the dearest first").toEqual([bob, ann]);
  expect(groupsOf(entries, "agent", periods, "hours")).toEqual([]);
  expect(groupsOf(entries, "total", periods, "hours")).toEqual([
    { name: "total", hours: { values: [3, 5], total: 8 }, cost: { values: [91, 5], total: 96 } },
  ]);
});

test("many groups are the largest ones and the rest together; nothing is lost", () => {
  const layers = [4, 3, 2, 1].map((n) => ({ name: `g${n}`, values: [n, 0], total: n }));
  expect(largest(layers, 4)).toEqual({ shown: layers, rest: undefined });
  const { shown, rest } = largest(layers, 3);
  expect(shown.map(({ name }) => name)).toEqual(["g4", "g3"]);
  expect(rest).toEqual({ name: "2 others", values: [3, 0], total: 3 });
});

test.each([[0, 1], [0.013, 0.015], [1, 1], [2.1, 3], [5, 5], [7, 8], [90, 100], [120, 150]])("the axis for %d ends at %d", (value, top) => {
  expect(roundUp(value)).toBeCloseTo(top, 12);
});

test("the table for other programs has a row a day and a column a group", () => {
  expect(historyCsv(layersOf(groupsOf(entries, "username", periods, "hours"), "hours"), periods)).toBe('date,ann,"bob, jr"\r\n2026-11-21,1,2\r\n2026-11-22,5,0\r\n');
});

test.each([[0, "0"], [0.0421, "0.042"], [1.25, "1.3"], [1234.5, "1,235"]])("%d hours read %s", (hours, text) => {
  expect(formatHours(hours)).toBe(text);
});

test.each([[0, "USD", "$0.00"], [0.00421, "USD", "$0.0042"], [12.3, "EUR", "€12.30"], [0.999, "USD", "$1.00"], [12345.6, "CHF", "CHF 12,346"]])(
  "a cost of %d %s reads %s",
  (cost, currency, text) => {
    expect(formatCost(cost, currency).replace("\u00a0", " ")).toBe(text);
  },
);
