import { expect, test } from "vitest";
import { filterOf } from "./log_filter";

test("a plain address asks for all lines, and so does one that has all wrong", () => {
  expect(filterOf({})).toEqual({});
  expect(filterOf({ level: "LOUD", since: "yesterday" })).toEqual({});
});

test("an address with everything asks for lines of a level or above it, of one rank, since an absolute time", () => {
  expect(filterOf({ find: "loss", rank: "1", level: "ERROR", since: "2026-11-24T20:05:07.000Z" })).toEqual({
    searchText: "loss",
    rankIds: [1],
    levels: ["LOG_LEVEL_ERROR", "LOG_LEVEL_CRITICAL"],
    timestampAfter: "2026-11-24T20:05:07.000Z",
  });
});
