import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, get, loggedOut, post, remove, standsBy, stream } from "./client";

/** What was sent, and what is answered next. */
let sent: { method: string; address: string; body: string; credentials: string }[];
let answer: () => Response;
beforeEach(() => {
  sent = [];
  vi.stubGlobal("window", new EventTarget());
  vi.stubGlobal("fetch", async (request: Request, init: RequestInit) => {
    const address = request.url.replace("http://localhost", "");
    sent.push({ method: request.method, address, body: await request.text(), credentials: String(init.credentials) });
    return answer();
  });
});
afterEach(() => vi.unstubAllGlobals());

const failure = async (call: Promise<unknown>) => {
  const cause: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(cause instanceof ApiError)) throw new Error("no ApiError");
  return cause;
};

test("a call has its parameters in path and query, encoded, and its cookie", async () => {
  answer = () => Response.json({ modelVersions: [] });
  expect(await get("/api/v1/models/{modelName}/versions", { path: { modelName: "a/b c" }, query: { limit: 2 } })).toEqual({ modelVersions: [] });
  expect(sent).toEqual([{ method: "GET", address: "/api/v1/models/a%2Fb%20c/versions?limit=2", body: "", credentials: "same-origin" }]);
});

test("a list is a parameter for each item", async () => {
  answer = () => Response.json({ trials: [] });
  await get("/api/v1/trials/time-series", { query: { trialIds: [1, 2] } });
  expect(sent[0]?.address).toBe("/api/v1/trials/time-series?trialIds=1&trialIds=2");
});

test("a change sends JSON, an empty object where it has nothing to say", async () => {
  answer = () => Response.json({});
  await post("/api/v1/groups", { body: { name: "team" } });
  await post("/api/v1/experiments/{id}/kill", { path: { id: 7 } });
  await remove("/api/v1/experiments/{id}", { path: { id: 7 } });
  expect(sent.map(({ method, body }) => [method, body])).toEqual([["POST", '{"name":"team"}'], ["POST", "{}"], ["DELETE", ""]]);
});

test("a refused call fails with the master's sentence", async () => {
  answer = () => Response.json({ error: { code: 5, reason: "NotFound", error: "trial 7 not found" } }, { status: 404 });
  expect(await failure(get("/api/v1/trials/{trialId}", { path: { trialId: 7 } }))).toMatchObject({ status: 404, message: "trial 7 not found" });
});

test("a master that stands by is told to the window, one that is busy is not", async () => {
  const heard = vi.fn();
  window.addEventListener(standsBy, heard);
  answer = () => Response.json({}, { status: 503 });
  await failure(get("/api/v1/me"));
  expect(heard).not.toHaveBeenCalled();
  answer = () => Response.json({}, { status: 503, headers: { "Det-Leader": "http://127.0.0.1:8181" } });
  await failure(get("/api/v1/me"));
  expect(heard).toHaveBeenCalledOnce();
});

test("a reply without a sentence says its status, and no reply that there is none", async () => {
  answer = () => new Response("<html>", { status: 502 });
  expect(await failure(get("/api/v1/me"))).toMatchObject({ status: 502, message: expect.stringContaining("502") });
  answer = () => {
    throw new TypeError("failed to fetch");
  };
  expect(await failure(get("/api/v1/me"))).toMatchObject({ status: 0, message: "Cannot reach the master." });
});

test("the window hears that the session has ended", async () => {
  const heard = vi.fn();
  window.addEventListener(loggedOut, heard);
  answer = () => Response.json({ message: "who?" }, { status: 401 });
  await failure(get("/api/v1/me"));
  expect(heard).toHaveBeenCalledOnce();
});

const lines = (...pieces: string[]) => {
  const encoder = new TextEncoder();
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(encoder.encode(piece));
        controller.close();
      },
    }),
  );
};

test("the items of a stream come as their lines are complete", async () => {
  answer = () => lines('{"result":{"id":"1"}}\n{"resu', 'lt":{"id":"2"}}\n', '{"result":{"id":"3"}}');
  const heard: string[][] = [];
  const path = "/api/v1/trials/{trialId}/logs";
  await stream(path, { path: { trialId: 1 }, query: { limit: 3 } }, new AbortController().signal, (items) => heard.push(items.map(({ id }) => id)));
  expect(heard.flat()).toEqual(["1", "2", "3"]);
});

test("an error ends a stream, with its sentence", async () => {
  answer = () => lines('{"result":{"id":"1"}}\n{"error":{"message":"the trial was deleted"}}\n');
  const heard: string[] = [];
  const call = stream("/api/v1/tasks/{taskId}/logs", { path: { taskId: "t" } }, new AbortController().signal, (items) => heard.push(...items.map(({ id }) => id)));
  expect(await failure(call)).toMatchObject({ message: "the trial was deleted" });
});
