import { expect, test } from "vitest";
import { diffOf, fileDifferences } from "./differences";

const text = (lines: readonly string[]) => `${lines.join("\n")}\n`;
const shown = (before: readonly string[], after: readonly string[]) => diffOf(text(before), text(after), 1).map(({ mark, text: line }) => `${mark}${line}`);

test("lines that differ are shown with those around them, and how many are left out", () => {
  expect(shown(["a", "b", "c", "d", "e"], ["a", "b", "X", "d", "e"])).toEqual(["…1 line", " b", "-c", "+X", " d", "…1 line"]);
  expect(shown(["a"], ["a", "b"])).toEqual([" a", "+b"]);
  expect(shown(["a"], ["a"])).toEqual([]);
});

test("files are added, removed or changed; those that are the same are not named", () => {
  const file = (path: string, content: string) => ({ path, content: new TextEncoder().encode(content) });
  const made = fileDifferences([file("a.py", "1"), file("b.py", "1"), file("c.py", "1")], [file("a.py", "1"), file("b.py", "2"), file("d.py", "1")]);
  expect(made).toEqual([{ path: "b.py", change: "changed" }, { path: "c.py", change: "removed" }, { path: "d.py", change: "added" }]);
});
