import { expect, test } from "vitest";
import { errorText, LineSplitter, readStreamLine } from "./lines";

test.each([
  ["whole lines", ["a\nb\n"], ["a", "b"]],
  ["a line cut in two", ["a", "b\nc\n"], ["ab", "c"]],
  ["a cut at the newline", ["a\n", "\nb\n"], ["a", "b"]],
  ["a last line without its newline", ["a\nb"], ["a", "b"]],
  ["nothing", [""], []],
])("%s", (_name, pieces, expected) => {
  const splitter = new LineSplitter();
  const lines = pieces.flatMap((piece) => splitter.push(piece));
  expect([...lines, ...splitter.end()]).toEqual(expected);
});

test.each([
  ["an item", '{"result":{"id":1}}', { kind: "item", item: { id: 1 } }],
  ["an error", '{"error":{"grpcCode":5,"message":"gone"}}', { kind: "error", message: "gone" }],
  ["something else", "3", { kind: "error", message: "3" }],
])("a stream line may be %s", (_name, line, expected) => {
  expect(readStreamLine(line)).toEqual(expected);
});

test.each([
  [{ error: { code: 5, reason: "NotFound", error: "trial 7 not found" } }, "trial 7 not found"],
  [{ error: { grpcCode: 5, message: "m" } }, "m"],
  [{ message: "m" }, "m"],
  [{ error: "e" }, "e"],
  [{ error: 3 }, undefined],
  [null, undefined],
])("the text of %j is %s", (body, expected) => {
  expect(errorText(body)).toBe(expected);
});
