import { expect, test } from "vitest";
import { csvText } from "./csv";

test.each<[readonly (readonly unknown[])[], string]>([
  [[], "\r\n"],
  [[["a", "b"], [1, 2]], "a,b\r\n1,2\r\n"],
  [[["a,b", 'say "no"']], '"a,b","say ""no"""\r\n'],
  [[["a", ""], [undefined, "b"]], "a,\r\n,b\r\n"],
  [[["two\nlines", "x"]], '"two\nlines",x\r\n'],
])("the rows %j are written as %j", (rows, text) => {
  expect(csvText(rows)).toBe(text);
});
