import { expect, test } from "vitest";
import { filterKey, latest, stillChosen } from "./chosen";

const row = (id: number, state = "") => ({ id, state });
const chosen = new Map([1, 2].map((id) => [id, row(id)]));
const page = (total: number, ...ids: number[]) => ({ experiments: ids.map((id) => row(id)), pagination: { total } });

test.each([
  ["all are here", page(3, 1, 2, 3), false, [1, 2]],
  ["one is gone from a list that is all here", page(2, 1, 3), false, [1]],
  ["one may be on another page", page(99, 1, 3), false, [1, 2]],
  ["another question was asked, and its page does not have it", page(99, 1, 3), true, [1]],
  ["nothing matches", page(0), true, []],
])("what is chosen where %s", (_, reply, asksElse, expected) => {
  expect([...stillChosen(chosen, reply, asksElse).keys()]).toEqual(expected);
});

test("order, page and columns are no other question; words and states are", () => {
  const key = filterKey({ search: "net", row: "200", group: "user", open: "[]", sort: "name", columns: "id" });
  expect(filterKey({ search: "net" })).toBe(key);
  expect(filterKey({ search: "net", state: "error" })).not.toBe(key);
});

test("the chosen are shown as they are now", () => {
  expect(latest(chosen, { experiments: [row(2, "paused")], pagination: {} })).toEqual([row(1), row(2, "paused")]);
});
