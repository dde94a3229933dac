import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isStill, logIn, logOut, resume, turnKey, wantedTask } from "./session";

/** A master whose user "determined" has no password, and what it was asked. */
let asked: string[];
let cookie: string | undefined;
beforeEach(() => {
  asked = [];
  cookie = undefined;
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  vi.stubGlobal("window", new EventTarget());
  vi.stubGlobal("fetch", async (request: Request) => {
    const path = request.url.replace("http://localhost/api/v1/", "");
    asked.push(path);
    if (path === "auth/login") cookie = ((await request.json()) as { username: string }).username;
    if (path === "auth/logout") cookie = undefined;
    return cookie === undefined && path === "me" ? Response.json({ message: "who?" }, { status: 401 }) : Response.json({ user: { id: cookie, username: cookie } });
  });
});
afterEach(() => vi.unstubAllGlobals());

test("who comes for the first time is the user without a password", async () => {
  expect((await resume())?.username).toBe("determined");
});

test("who has logged out is asked, also after a reload, until somebody logs in", async () => {
  await resume();
  await logOut();
  asked = [];
  expect(await resume()).toBeUndefined();
  expect(asked).toEqual(["me"]);
  await logIn("ann", "pw");
  expect((await resume())?.username).toBe("ann");
  cookie = undefined; // the session has ended by itself
  expect((await resume())?.username).toBe("determined");
});

test("other windows hear that somebody logs in or out", async () => {
  const turn = () => localStorage.getItem(turnKey);
  const turns = [turn()];
  await logIn("ann", "pw");
  turns.push(turn());
  await logOut();
  turns.push(turn());
  expect(new Set(turns).size).toBe(3);
});

test("a window whose cookie is another's notices; where the master does not say, it stays", async () => {
  const ann = await logIn("ann", "pw");
  expect(await isStill(ann)).toBe(true);
  await logIn("bob", "pw");
  expect(await isStill(ann)).toBe(false);
  await logOut();
  expect(await isStill(ann)).toBe(true);
});

test.each([
  ["?then=%2Fproxy%2F1a2b%2F%3Fx%3D1", "/proxy/1a2b/?x=1"],
  ["", undefined],
  ["?then=https%3A%2F%2Felsewhere.org%2Fproxy%2Fx", undefined],
  ["?then=%2F%2Felsewhere.org", undefined],
  ["?then=%2Fproxy%2F%2Felsewhere.org", undefined],
  ["?then=%2Fapi%2Fv1%2Fme", undefined],
])("after the log-in, %s leads to %s", (search, expected) => {
  expect(wantedTask(search)).toBe(expected);
});
