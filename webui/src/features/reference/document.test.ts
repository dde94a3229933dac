import { describe, expect, test } from "vitest";
import text from "../../../../tools/api/openapi.json?raw";
import { type ApiDocument, byTag, curlOf, exampleOf, fieldsOf, found, operationsOf, typeOf } from "./document";

const real = JSON.parse(text) as ApiDocument;
const operations = operationsOf(real);
const { schemas } = real.components;
const operation = (id: string) => {
  const one = operations.find((other) => other.id === id);
  if (one === undefined) throw new Error(`no ${id}`);
  return one;
};

test("every operation of the document is there once, with a summary that begins with a capital letter", () => {
  const calls = Object.entries(real.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(calls.sort());
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
  expect(operations.filter(({ summary }) => !/^[A-Z]/.test(summary))).toEqual([]);
});

test("operations are grouped by tag", () => {
  expect([...byTag(operations).values()].flat()).toHaveLength(operations.length);
  expect(byTag(operations).get("Cluster")?.map(({ id }) => id)).toContain("getAgents");
});

test("a call has parameters in its path and its query, a body, a reply and errors", () => {
  expect(operation("getTrialsTrialId")).toMatchObject({ pathParameters: [{ name: "trialId", type: "integer", required: true }], streams: false });
  expect(operation("getExperiments").queryParameters).toContainEqual(expect.objectContaining({ name: "limit", type: "integer", required: false, description: expect.stringMatching(/\w/) }));
  expect(operation("getAgents").errors.map(({ status }) => status)).toContain("401");
  expect(fieldsOf(operation("getTrialsTrialId").reply, schemas)).toMatchObject([{ name: "trial", type: "Trial", required: true }]);
  expect(operation("postAuthLogin").needsLogin).toBe(false);
});

test("a stream says what each line has", () => {
  const logs = operation("getTrialsTrialIdLogs");
  expect(logs.streams).toBe(true);
  expect(fieldsOf(logs.reply, schemas)).toMatchObject([{ name: "result", type: "LogLine" }]);
});

test.each([
  ["kill experiment", "postExperimentsIdKill"],
  ["POST /api/v1/auth/login", "postAuthLogin"],
])("the search %s finds %s", (search, id) => {
  expect(found(operations, search).map((one) => one.id)).toContain(id);
});

test("every word of a search is to be found, and no word finds all", () => {
  expect(found(operations, "experiment zebra")).toEqual([]);
  expect(found(operations, "  ")).toBe(operations);
});

describe("types read as one says them", () => {
  test.each([
    [{ type: "integer" }, "integer"],
    [{ type: "string", format: "int64" }, "int64 as a string"],
    [{ type: "array", items: { $ref: "#/components/schemas/Trial" } }, "Trial[]"],
    [{ type: "object", additionalProperties: { type: "string" } }, "map of string"],
    [{ type: "object", additionalProperties: true }, "object"],
    [{ type: "string", enum: ["a", "b"] }, '"a" | "b"'],
    [{}, "any JSON value"],
  ])("%o is %s", (schema, text) => {
    expect(typeOf(schema)).toBe(text);
  });
});

test("an example has what is required, and ends where objects contain themselves", () => {
  expect(exampleOf({ $ref: "#/components/schemas/LoginRequest" }, schemas)).toEqual({ username: "text" });
  const tree = { Node: { type: "object", required: ["children"], properties: { children: { type: "array", items: { $ref: "#/components/schemas/Node" } } } } };
  expect(JSON.stringify(exampleOf({ $ref: "#/components/schemas/Node" }, tree)).length).toBeLessThan(100);
});

test("curl sends the token, and a body in quotes that a shell understands", () => {
  expect(curlOf(operation("getAgents"), "http://m:8080", schemas)).toBe(`curl 'http://m:8080/api/v1/agents' \\\n  -H "Authorization: Bearer $DET_TOKEN"`);
  expect(curlOf(operation("postAuthLogin"), "http://m", schemas)).toBe(
    `curl -X POST 'http://m/api/v1/auth/login' \\\n  -H 'Content-Type: application/json' \\\n  -d '{"username":"text"}'`,
  );
  expect(curlOf(operation("getTrialsTrialIdLogs"), "http://m", schemas)).toContain("--no-buffer 'http://m/api/v1/trials/{trialId}/logs'");
});
