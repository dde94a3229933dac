/** Calls of the master's API, checked against its document. The login is a cookie that the browser keeps. */

import createClient from "openapi-fetch";
import type { paths } from "./generated/schema";
import { errorText, LineSplitter, readStreamLine } from "./lines";

/** The master's error reply. `status` 0: it could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Sent to the window when the master answers 401: the session has ended. */
export const loggedOut = "det-logged-out";

/** Sent to the window when the master stands by: another one leads, and sends whoever opens a page there. */
export const standsBy = "det-stands-by";

/** The reply, or an ApiError. */
async function send(request: Request | string, signal?: AbortSignal | null): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(request, { credentials: "same-origin", ...(signal ? { signal } : {}) });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, "Cannot reach the master.");
  }
  if (response.ok) return response;
  if (response.status === 401) window.dispatchEvent(new Event(loggedOut));
  if (response.status === 503 && response.headers.has("Det-Leader")) window.dispatchEvent(new Event(standsBy));
  const body: unknown = await response.json().catch(() => undefined);
  throw new ApiError(response.status, errorText(body) ?? `The master answered with HTTP status ${response.status}.`);
}

type Method = "get" | "post" | "put" | "patch" | "delete";
type Json = "application/json";
type Lines = "application/x-ndjson";

/** The paths that know a method, with replies of a media type. */
export type Path<M extends Method, T extends Json | Lines = Json> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: { 200: { content: Record<T, unknown> } } }> ? P : never;
}[keyof paths];

type Operation<M extends Method, P extends keyof paths> = NonNullable<paths[P][M]>;
type Content<O, T extends Json | Lines> = O extends { responses: { 200: { content: Record<T, infer Sent> } } } ? Sent : never;
export type Reply<M extends Method, P extends keyof paths> = Content<Operation<M, P>, Json>;
/** One line of a stream. */
export type Item<P extends keyof paths> = NonNullable<Content<Operation<"get", P>, Lines> extends { result?: infer Sent } ? Sent : never>;

export type Query<P extends keyof paths> = Operation<"get", P> extends { parameters: { query?: infer Asked } } ? NonNullable<Asked> : never;
type Body<O> = O extends { requestBody?: infer Request }
  ? [NonNullable<Request>] extends [{ content: { "application/json": infer Sent } }]
    ? [NonNullable<Request>] extends [never]
      ? unknown
      : { readonly body: Sent }
    : unknown
  : unknown;
type InPath<O> = O extends { parameters: { path: infer Named } } ? { readonly path: Named } : unknown;
type InQuery<O> = O extends { parameters: { query?: infer Asked } } ? { readonly query?: NonNullable<Asked> } : unknown;
/** What a call sends: parameters in the path, parameters after it, the body. */
export type Sent<M extends Method, P extends keyof paths> = InPath<Operation<M, P>> & InQuery<Operation<M, P>> & Body<Operation<M, P>>;

/** Nothing need be said where all of it is optional. */
type Rest<S> = Record<never, never> extends S ? [sent?: S, signal?: AbortSignal] : [sent: S, signal?: AbortSignal];

interface AnySent {
  readonly path?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

// fetch is looked up at each call.
const origin = globalThis.location?.origin ?? "http://localhost"; // tests have no page
const client = createClient<paths>({ baseUrl: origin, fetch: (request) => send(request, request.signal) });
/** The functions below say which arguments go with which path. */
const call = client.request as unknown as (method: Method, path: string, init: object) => Promise<{ data: unknown }>;

async function request(method: Method, path: string, sent: AnySent = {}, signal: AbortSignal | undefined, parseAs: "json" | "stream" = "json"): Promise<unknown> {
  const body = method === "get" || method === "delete" ? sent.body : (sent.body ?? {});
  const { data } = await call(method, path, { params: { path: sent.path, query: sent.query }, body, parseAs, ...(signal ? { signal } : {}) });
  return data;
}

export async function get<P extends Path<"get">>(path: P, ...[sent, signal]: Rest<Sent<"get", P>>): Promise<Reply<"get", P>> {
  return (await request("get", path, sent as AnySent, signal)) as Reply<"get", P>;
}

export async function post<P extends Path<"post">>(path: P, ...[sent, signal]: Rest<Sent<"post", P>>): Promise<Reply<"post", P>> {
  return (await request("post", path, sent as AnySent, signal)) as Reply<"post", P>;
}

export async function put<P extends Path<"put">>(path: P, ...[sent]: Rest<Sent<"put", P>>): Promise<Reply<"put", P>> {
  return (await request("put", path, sent as AnySent, undefined)) as Reply<"put", P>;
}

export async function patch<P extends Path<"patch">>(path: P, ...[sent]: Rest<Sent<"patch", P>>): Promise<Reply<"patch", P>> {
  return (await request("patch", path, sent as AnySent, undefined)) as Reply<"patch", P>;
}

export async function remove<P extends Path<"delete">>(path: P, ...[sent]: Rest<Sent<"delete", P>>): Promise<Reply<"delete", P>> {
  return (await request("delete", path, sent as AnySent, undefined)) as Reply<"delete", P>;
}

/** A text from an address outside /api/v1, with its slash before it. */
export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return (await send(path, signal)).text();
}

/** Hands over the items of a stream, as many at once as have arrived, until it ends. */
export async function stream<P extends Path<"get", Lines>>(
  path: P,
  sent: Sent<"get", P>,
  signal: AbortSignal,
  onItems: (items: Item<P>[]) => void,
): Promise<void> {
  const body = (await request("get", path, sent as AnySent, signal, "stream")) as ReadableStream<Uint8Array<ArrayBuffer>> | null;
  if (!body) return;
  const splitter = new LineSplitter();
  const deliver = (lines: string[]) => {
    const items: Item<P>[] = [];
    for (const line of lines) {
      const read = readStreamLine<Item<P>>(line);
      if (read.kind === "error") throw new ApiError(200, read.message);
      items.push(read.item);
    }
    if (items.length > 0) onItems(items);
  };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const read = () =>
    reader.read().catch((cause: unknown) => {
      throw signal.aborted ? cause : new ApiError(0, "Lost the connection to the master.");
    });
  for (let piece = await read(); !piece.done; piece = await read()) deliver(splitter.push(piece.value));
  deliver(splitter.end());
}
