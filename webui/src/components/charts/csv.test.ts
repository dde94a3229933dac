import { expect, test } from "vitest";
import { csvText, parseCsv } from "./csv";

test.each<[string, string[][]]>([
  ["", []],
  ["a,b\n1,2\n", [["a", "b"], ["1", "2"]]],
  ["a,b\r\n1,2", [["a", "b"], ["1", "2"]]],
  ['"a,b","say ""no"""\n', [["a,b", 'say "no"']]],
  ["a,\n,b\n", [["a", ""], ["", "b"]]],
  ['"two\nlines",x\n', [["two\nlines", "x"]]],
])("%j has the cells %j", (text, cells) => {
  expect(parseCsv(text)).toEqual(cells);
});

test("what is written is read again as it was", () => {
  const rows = [["name", "value"], ["a \"quoted\", name", "1"], ["", "two\r\nlines"]];
  expect(parseCsv(csvText(rows))).toEqual(rows);
});
