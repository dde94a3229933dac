/** Calls of the master's API. The login is a cookie that the browser keeps. */

import { errorText, LineSplitter, readStreamLine } from "./lines";

/** The master's answer when it is no. `status` 0: it did not answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export type Parameters = Readonly<Record<string, string | number | boolean | readonly (string | number)[]>>;

function address(path: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, String(item));
  const text = query.toString();
  return `/api/v1/${path}${text === "" ? "" : `?${text}`}`;
}

/** What the window is told when the master does not know who calls: the session has ended. */
export const loggedOut = "det-logged-out";

async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...init });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, "The master does not answer.");
  }
  if (response.ok) return response;
  if (response.status === 401) window.dispatchEvent(new Event(loggedOut));
  const body: unknown = await response.json().catch(() => undefined);
  throw new ApiError(response.status, errorText(body) ?? `The master answered ${response.status}.`);
}

export async function get<T>(path: string, parameters?: Parameters, signal?: AbortSignal): Promise<T> {
  const response = await send(address(path, parameters), signal ? { signal } : {});
  return (await response.json()) as T;
}

/** A text from an address outside /api/v1, with its slash before it. */
export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return (await send(path, signal ? { signal } : {})).text();
}

async function change<T>(method: string, path: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  const response = await send(address(path), { method, headers, body: JSON.stringify(body) });
  return (await response.json()) as T;
}

export const post = <T>(path: string, body: unknown = {}): Promise<T> => change<T>("POST", path, body);
export const put = <T>(path: string, body: unknown): Promise<T> => change<T>("PUT", path, body);
export const patch = <T>(path: string, body: unknown): Promise<T> => change<T>("PATCH", path, body);

/** DELETE, whose reply says nothing. */
export async function remove(path: string): Promise<void> {
  await send(address(path), { method: "DELETE" });
}

/** Hands over the items of a stream, as many at once as have arrived, until it ends. */
export async function stream<T>(
  path: string,
  parameters: Parameters,
  signal: AbortSignal,
  onItems: (items: T[]) => void,
): Promise<void> {
  const response = await send(address(path, parameters), { signal });
  if (response.body === null) return;
  const splitter = new LineSplitter();
  const deliver = (lines: string[]) => {
    const items: T[] = [];
    for (const line of lines) {
      const read = readStreamLine<T>(line);
      if (read.kind === "error") throw new ApiError(response.status, read.message);
      items.push(read.item);
    }
    if (items.length > 0) onItems(items);
  };
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const read = () =>
    reader.read().catch((cause: unknown) => {
      throw signal.aborted ? cause : new ApiError(0, "The connection to the master broke.");
    });
  for (let piece = await read(); !piece.done; piece = await read()) deliver(splitter.push(piece.value));
  deliver(splitter.end());
}
