import { expect, test } from "vitest";
import { bytesOf, greeting, hear, type Heard, pieces, webSocketAddress, windowBytes } from "./shell_protocol";

test("a shell is asked for a terminal of the page's size, and to wait for the page", () => {
  expect(JSON.parse(greeting({ columns: 100, rows: 30 }))).toEqual({ tty: true, columns: 100, rows: 30, term: "xterm-256color", window: windowBytes });
});

const bytes = (...values: number[]) => new Uint8Array(values);
const buffer = (...values: number[]): ArrayBuffer => bytes(...values).buffer as ArrayBuffer;

test.each<[string, string | ArrayBuffer, Heard]>([
  ["output comes behind its channel", buffer(1, 104, 105), { kind: "output", bytes: bytes(104, 105) }],
  ["bytes are handed on as they are", buffer(1, 0xc3), { kind: "output", bytes: bytes(0xc3) }],
  ["nothing is no output", buffer(), { kind: "output", bytes: bytes() }],
  ["the end has a status", '{"exit": 130}', { kind: "exit", status: 130 }],
  ["what else is said is not for us", '{"title": "x"}', { kind: "nothing" }],
  ["nor is what is no object", "null", { kind: "nothing" }],
  ["nor what is no JSON", "hello", { kind: "nothing" }],
])("%s", (_, message, heard) => {
  expect(hear(message)).toEqual(heard);
});

test.each([
  [0, []],
  [5, [5]],
  [64 * 1024, [64 * 1024]],
  [150_000, [65_536, 65_536, 18_928]],
])("%i bytes of input are messages of %j", (size, sizes) => {
  const whole = Uint8Array.from({ length: size }, (_, index) => index % 251);
  const parts = [...pieces(whole)];
  expect(parts.map(({ length }) => length)).toEqual(sizes);
  expect(parts.flatMap((part) => [...part])).toEqual([...whole]);
});

test("reports of the mouse are bytes, not characters", () => {
  expect([...bytesOf("\u001b[M\u00ff!")]).toEqual([27, 91, 77, 255, 33]);
});

test.each([
  ["/proxy/5f/", "http://host:8080/det/tasks/shell/5f/terminal", "ws://host:8080/proxy/5f/terminal"],
  ["/proxy/5f/", "https://host/det/x", "wss://host/proxy/5f/terminal"],
])("%s on the page %s is reached at %s", (service, page, address) => {
  expect(webSocketAddress(service, page)).toBe(address);
});
