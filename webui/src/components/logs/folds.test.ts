import { expect, test } from "vitest";
import type { LogLine } from "../../api/types";
import { errorsIn, foldsOf, unfolded } from "./folds";

const line = (id: number, log: string, more: Partial<LogLine> = {}) => ({ id: String(id), log: `${log}\n`, rankId: 0, agentId: "a", source: "stderr", level: "LOG_LEVEL_INFO", ...more }) as unknown as LogLine;
const log = (text: string) => text.split("\n").map((one, at) => line(at + 1, one));

const trace = `before
Traceback (most recent call last):
  File "model.py", line 3, in forward
    raise ValueError("odd")
ValueError: odd
after`;

test("a trace is folded from its first line to the exception", () => {
  const lines = log(trace);
  const folds = foldsOf(lines);
  expect([...folds.keys()]).toEqual(["2"]);
  expect(folds.get("2")?.raised).toBe("ValueError: odd");
  expect(unfolded(lines, folds, new Set()).map(({ id }) => id)).toEqual(["1", "2", "6"]);
  expect(unfolded(lines, folds, new Set(["2"]))).toHaveLength(6);
});

test("a trace that was raised while another was handled is one with it", () => {
  const lines = log(`${trace.replace("\nafter", "")}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 1, in <module>
KeyError: 'x'
after`);
  const folds = foldsOf(lines);
  expect(folds.size).toBe(1);
  expect(folds.get("2")?.raised).toBe("KeyError: 'x'");
  expect(unfolded(lines, folds, new Set()).map(({ log: text }) => text.trim())).toEqual(["before", begins, "after"]);
});

const begins = "Traceback (most recent call last):";

test("a prefix that a logger puts before each line, and colours, are no matter", () => {
  const lines = log(["[rank0]: Traceback (most recent call last):", "[rank0]:   File \"a\"", "[rank0]: \x1b[31mRuntimeError\x1b[0m: x", "[rank0]: next"].join("\n"));
  expect(foldsOf(lines).get("1")?.raised).toBe("RuntimeError: x");
  expect(foldsOf(lines).get("1")?.hidden).toHaveLength(2);
});

test("lines of another rank end a trace, and one without an exception is not folded", () => {
  const lines = [line(1, begins), line(2, "  File \"a\""), line(3, "loss 1", { rankId: 1 }), line(4, "ValueError: x")];
  expect(foldsOf(lines).size).toBe(0);
});

test("errors are traces, lines of that level, and exceptions that are named; what a trace contains counts once", () => {
  const lines = [...log(trace), line(7, "disk full", { level: "LOG_LEVEL_ERROR" }), line(8, "torch.OutOfMemoryError: CUDA"), line(9, "no error: fine")];
  const folds = foldsOf(lines);
  expect(errorsIn(lines, folds)).toEqual([1, 6, 7]);
  expect(errorsIn(unfolded(lines, folds, new Set()), folds)).toEqual([1, 3, 4]);
});
