import { expect, test } from "vitest";
import { flatten, formatBytes, formatDuration, formatNumber, hasRun, isTerminal, metricText, runTime, shortNumber, stateName, stateTone } from "./format";

test.each([
  [0.1 + 0.2, "0.3"],
  [1234567, "1234570"],
  [0, "0"],
  [-0.00001234, "-1.234e-5"],
  [2.5e12, "2.5e12"],
  ["NaN", "NaN"],
  ["Infinity", "∞"],
  ["-Infinity", "−∞"],
  [null, ""],
  [undefined, ""],
  ["text", ""],
])("the number %s is shown as %s", (value, expected) => {
  expect(formatNumber(value)).toBe(expected);
});

test.each([
  [0, "0 s"],
  [59_999, "59 s"],
  [60_000, "1 min 00 s"],
  [3_725_000, "1 h 02 min"],
  [90_000_000, "1 d 01 h"],
  [-5, "0 s"],
])("%d ms are %s", (milliseconds, expected) => {
  expect(formatDuration(milliseconds)).toBe(expected);
});

test.each([
  ["2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z", "1 min 00 s"],
  ["2026-01-02T03:04:05.123456Z", null, "10 s"],
  ["", null, ""],
])("from %s to %s is %s", (start, end, expected) => {
  expect(runTime(start, end, Date.parse("2026-01-02T03:04:15.500Z"))).toBe(expected);
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [2560, "2.5 KB"],
  [3 * 1024 ** 3, "3.0 GB"],
])("%d bytes are %s", (bytes, expected) => {
  expect(formatBytes(bytes)).toBe(expected);
});

test.each([
  ["STATE_RUNNING", "running", "active", false],
  ["STATE_QUEUED", "queued", "waiting", false],
  ["STATE_STOPPING_CANCELED", "stopping canceled", "waiting", false],
  ["STATE_PAUSED", "paused", "neutral", false],
  ["STATE_COMPLETED", "completed", "good", true],
  ["STATE_ERROR", "error", "bad", true],
] as const)("%s is %s", (state, name, tone, terminal) => {
  expect(stateName(state)).toBe(name);
  expect(stateTone(state)).toBe(tone);
  expect(isTerminal(state)).toBe(terminal);
});

test("hyperparameters are one a line", () => {
  expect(flatten({ lr: 0.1, net: { width: 8, kind: "cnn" }, list: [1, 2] })).toEqual([
    ["lr", "0.1"],
    ["net.width", "8"],
    ["net.kind", "cnn"],
    ["list", "[1,2]"],
  ]);
});

test.each([
  ["STATE_QUEUED", false],
  ["STATE_PAUSED", false],
  ["STATE_STARTING", false],
  ["STATE_ACTIVE", false],
  ["STATE_RUNNING", true],
  ["STATE_STOPPING_CANCELED", true],
  ["STATE_COMPLETED", true],
])("an experiment that is %s has a time for which it ran: %s", (state, expected) => {
  expect(hasRun(state)).toBe(expected);
});

test.each([
  ["0.00031622776601683794", "0.000316228"],
  ["-12345.678901234", "-12345.7"],
  ["0.5", "0.5"],
  ["64", "64"],
  ["1e-3", "1e-3"],
  ["adam", "adam"],
  ["[0.00031622776601683794]", "[0.00031622776601683794]"],
  ["–", "–"],
])("the value %j is read as %j", (text, expected) => {
  expect(shortNumber(text)).toBe(expected);
});

test.each([
  [0.1234567, "0.123457"],
  ["NaN", "NaN"],
  ["early", "early"],
  [{ cat: 0.5, dog: [1, 2] }, '{"cat":0.5,"dog":[1,2]}'],
  [true, "true"],
  [null, "null"],
])("the metric %j is read as %s", (value, expected) => {
  expect(metricText(value)).toBe(expected);
});
