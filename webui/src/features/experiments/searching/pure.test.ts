import { expect, test } from "vitest";
import { rightsOf } from "../../../components/people/rights";
import { actions, obstacle, plan, planMove } from "../changing/actions";
import { listParameters } from "../list/search";

const all = () => true;
const mine = { workspaceId: 1, userId: 4 };

test.each([
  ["STATE_RUNNING", false, ["pause", "cancel", "kill"]],
  ["STATE_ACTIVE", false, ["pause", "cancel", "kill"]],
  ["STATE_QUEUED", false, ["pause", "cancel", "kill"]],
  ["STATE_PAUSED", false, ["activate", "cancel", "kill"]],
  ["STATE_STOPPING_CANCELED", false, ["kill"]],
  ["STATE_COMPLETED", false, ["archive", "delete"]],
  ["STATE_COMPLETED", true, ["unarchive", "delete"]],
  ["STATE_ERROR", false, ["archive", "delete"]],
  ["STATE_DELETING", false, []],
])("in %s (archived: %s) one may %j", (state, archived, expected) => {
  expect(actions({ state, archived, ...mine }, all)).toEqual(expected);
});

test("what runs outside the cluster is not commanded from here", () => {
  expect(actions({ state: "STATE_RUNNING", archived: false, unmanaged: true, ...mine }, all)).toEqual([]);
  expect(actions({ state: "STATE_COMPLETED", archived: false, unmanaged: true, ...mine }, all)).toEqual(["archive", "delete"]);
});

test("a bulk action says what it acts on and why it leaves out the rest", () => {
  const chosen = [
    { id: 1, state: "STATE_RUNNING", archived: false, ...mine },
    { id: 2, state: "STATE_COMPLETED", archived: false, ...mine },
    { id: 3, state: "STATE_PAUSED", archived: false, ...mine },
  ];
  const pause = plan("pause", chosen, all);
  expect(pause.acts.map(({ id }) => id)).toEqual([1]);
  expect(pause.leaves.map(({ item, why }) => [item.id, why])).toEqual([
    [2, "is completed"],
    [3, "is paused"],
  ]);
  expect(obstacle("delete", { state: "STATE_RUNNING", archived: false, ...mine }, all)).toBe("is running, not finished");
});

test("a move leaves out what is there already or is being deleted", () => {
  const chosen = [
    { id: 1, projectId: 7, projectName: "nets", state: "STATE_RUNNING", ...mine },
    { id: 2, projectId: 8, projectName: "other", state: "STATE_COMPLETED", ...mine },
    { id: 3, projectId: 8, projectName: "other", state: "STATE_DELETING", ...mine },
  ];
  expect(planMove(0, chosen, all).acts.map(({ id }) => id)).toEqual([1, 2]);
  const { acts, leaves } = planMove(7, chosen, all);
  expect(acts.map(({ id }) => id)).toEqual([2]);
  expect(leaves.map(({ item, why }) => [item.id, why])).toEqual([
    [1, "is already in nets"],
    [3, "is being deleted"],
  ]);
});

test("without roles everybody cancels, kills and moves an experiment, and its owner deletes it", () => {
  const ann = rightsOf({ id: 4, username: "ann", admin: false, active: true }, false, undefined).may;
  const admin = rightsOf({ id: 1, username: "admin", admin: true, active: true }, false, undefined).may;
  const running = { id: 1, state: "STATE_RUNNING", archived: false, workspaceId: 1, userId: 9 };
  expect(actions(running, ann)).toEqual(["pause", "cancel", "kill"]);
  expect(planMove(0, [{ ...running, projectId: 7, projectName: "nets" }], ann).acts).toHaveLength(1);
  const completed = { ...running, state: "STATE_COMPLETED" };
  expect(actions(completed, ann)).toEqual(["archive"]);
  expect(actions({ ...completed, userId: 4 }, ann)).toEqual(["archive", "delete"]);
  expect(actions(completed, admin)).toEqual(["archive", "delete"]);
});

test("what one may not do is not offered, and said of what is chosen with others", () => {
  const ann = rightsOf({ id: 4, username: "ann", admin: false, active: true }, false, undefined).may;
  const completed = { id: 1, state: "STATE_COMPLETED", archived: false, workspaceId: 1 };
  const remove = plan("delete", [{ ...completed, userId: 4 }, { ...completed, id: 2, userId: 9 }], ann);
  expect(remove.acts.map(({ id }) => id)).toEqual([1]);
  expect(remove.leaves.map(({ item, why }) => [item.id, why])).toEqual([[2, "requires a permission that you do not have"]]);
  const nothing = () => false;
  const moves = planMove(0, [{ ...completed, projectId: 7, projectName: "nets", userId: 4 }], nothing);
  expect(moves.leaves.map(({ why }) => why)).toEqual(["requires a permission that you do not have"]);
});

test("a plain address asks for the newest experiments that are not archived", () => {
  expect(listParameters({})).toEqual({
    search: "",
    sortBy: "SORT_BY_ID",
    orderBy: "ORDER_BY_DESC",
    offset: 0,
    limit: 50,
    archived: false,
  });
});

test("an address with everything asks for all of it", () => {
  const query = { search: " a b ", state: "paused", user: "me", label: "x", project: "7", sort: "name", archived: "all" };
  expect(listParameters(query, 2)).toEqual({
    search: "a b",
    sortBy: "SORT_BY_NAME",
    orderBy: "ORDER_BY_ASC",
    offset: 100,
    limit: 50,
    states: ["STATE_PAUSED"],
    users: ["me"],
    labels: ["x"],
    projectId: 7,
  });
  expect(listParameters({ project: "vision" })).not.toHaveProperty("projectId");
});

test("an unknown order or state is as if it were not there", () => {
  expect(listParameters({ sort: "-nothing", state: "sleepy" })).toMatchObject({ sortBy: "SORT_BY_ID", orderBy: "ORDER_BY_DESC" });
  expect(listParameters({ state: "sleepy" })).not.toHaveProperty("states");
});

