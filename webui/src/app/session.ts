/** Who is logged in. */

import { ApiError, get, post } from "../api/client";
import type { User } from "../api/types";

/** The user that every new cluster has, without a password. */
const defaultUser = "determined";

export async function logIn(username: string, password: string): Promise<User> {
  return (await post<{ user: User }>("auth/login", { username, password, isHashed: false })).user;
}

/**
 * The user of the browser's cookie; else the default user where it still has
 * no password; else nobody, and the page asks.
 */
export async function resume(): Promise<User | undefined> {
  try {
    return (await get<{ user: User }>("me")).user;
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
  }
  try {
    return await logIn(defaultUser, "");
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
    return undefined;
  }
}

export async function logOut(): Promise<void> {
  await post("auth/logout");
}

/** The master answered, and the answer is no. */
export function isRefusal(cause: unknown): boolean {
  return cause instanceof ApiError && [400, 401, 403, 404].includes(cause.status);
}
