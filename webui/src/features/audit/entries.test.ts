import { expect, test } from "vitest";
import { pathOf } from "../../components/address/paths";
import { aboutParts, auditParameters, callOf, cursorsOf, outcomeOf, pageSize, viewOf } from "./entries";

test("a plain address asks for the newest page, and one entry more", () => {
  expect(auditParameters({})).toEqual({ limit: pageSize + 1 });
});

test("an address with everything asks for all of it, a wrong one for what is right", () => {
  const query = { user: "ann", search: "kill", refused: "1", since: "2026-01-02T03:04:00.000Z", until: "2026-02-01T00:00:00.000Z", before: "900,800" };
  expect(auditParameters(query)).toEqual({
    limit: pageSize + 1,
    username: "ann",
    text: "kill",
    refused: true,
    after: "2026-01-02T03:04:00.000Z",
    before: "2026-02-01T00:00:00.000Z",
    beforeId: "800",
  });
  expect(auditParameters({ since: "yesterday", before: "x" })).toEqual({ limit: pageSize + 1 });
  expect(cursorsOf({ before: "900,x,800" })).toEqual(["900", "800"]);
});

test.each([
  ["experiment 7", "/det/experiments/7"],
  ["trial 9", "/det/trials/9"],
  ["workspace 3", "/det/workspaces/3"],
  ["project 4", "/det/projects/4"],
])("%s is at %s", (about, address) => {
  const view = viewOf(about);
  expect(view && pathOf(view)).toBe(address);
});

test("what was about several things leads to each", () => {
  expect(aboutParts("experiment 1, project 4, the cluster").map(({ text, view }) => [text, view && pathOf(view)])).toEqual([
    ["experiment 1", "/det/experiments/1"],
    ["project 4", "/det/projects/4"],
    ["the cluster", undefined],
  ]);
  expect(aboutParts("")).toEqual([]);
});

test("what has no page of its own has no link", () => {
  expect(viewOf("the cluster")).toBeUndefined();
  expect(viewOf("experiment 7 and more")).toBeUndefined();
});

test("a call is its method and the path that was really called", () => {
  expect(callOf({ operation: "POST /api/v1/experiments/{id}/kill", path: "/api/v1/experiments/7/kill" })).toBe("POST /api/v1/experiments/7/kill");
});

test.each([[200, "done"], [403, "permission denied"], [412, "rejected"], [500, "failed"]])("%d reads %s", (status, words) => {
  expect(outcomeOf(status)).toBe(words);
});
