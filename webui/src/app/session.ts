/** Who is logged in. */

import { ApiError, get, post } from "../api/client";
import type { User } from "../api/types";

/** The user that every new cluster has, without a password. */
const defaultUser = "determined";

/** Somebody has logged out here: who comes next says who it is. */
const leftKey = "logged out";

/** Changes whenever somebody logs in or out here: the other windows hear of it by the event "storage". */
export const turnKey = "last log-in or log-out";

const tellOthers = () => localStorage.setItem(turnKey, `${Date.now()} ${Math.random()}`);

export async function logIn(username: string, password: string): Promise<User> {
  const { user } = await post("/api/v1/auth/login", { body: { username, password, isHashed: false } });
  localStorage.removeItem(leftKey);
  tellOthers();
  return user;
}

/** Whether the cookie still is this user's, as far as the master answers. Nobody's: the window hears `loggedOut`. */
export async function isStill(user: User): Promise<boolean> {
  return get("/api/v1/me").then(
    (now) => now.user.id === user.id,
    () => true,
  );
}

/**
 * The user of the browser's cookie; else the default user where it still has
 * no password and nobody has logged out; else nobody, and the page asks.
 */
export async function resume(): Promise<User | undefined> {
  try {
    return (await get("/api/v1/me")).user;
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
  }
  if (localStorage.getItem(leftKey) !== null) return undefined;
  try {
    return await logIn(defaultUser, "");
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
    return undefined;
  }
}

export async function logOut(): Promise<void> {
  localStorage.setItem(leftKey, "1");
  await post("/api/v1/auth/logout");
  tellOthers();
}

/**
 * Where somebody wanted to go who had to log in first: the page of a task, which the master hands out; undefined: the
 * pages here, and whatever is not one of the tasks' own addresses.
 */
export function wantedTask(search: string): string | undefined {
  const then = new URLSearchParams(search).get("then");
  return then !== null && /^[/]proxy[/][^/\\]/.test(then) ? then : undefined;
}

/** The master answered, and the answer is no. */
export function isRefusal(cause: unknown): boolean {
  return cause instanceof ApiError && [400, 401, 403, 404].includes(cause.status);
}
