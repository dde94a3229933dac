import { expect, test } from "vitest";
import { coloured, printable } from "./ansi";

const esc = "\u001b[";
const brief = (line: string, searched = "") => coloured(line, searched).map(({ text, style, colour = "", back = "", found }) => [text, style, colour, back, found ? "found" : ""].filter((t) => t !== "").join("|"));

test.each([
  ["plain text is one part", "a line\n", ["a line"]],
  ["a colour goes to its end", `${esc}31mred${esc}0m and not`, ["red|ansi-1", " and not"]],
  ["bold and bright", `${esc}1;92mok${esc}22m ok${esc}39m ok`, ["ok|ansi-10 strong", " ok|ansi-10", " ok"]],
  ["an empty one ends all", `${esc}1;34mx${esc}my`, ["x|ansi-4 strong", "y"]],
  ["the first 16 of 256 are the 16, others have colours of their own", `${esc}38;5;9mx${esc}38;5;200my`, ["x|ansi-9", "y|rgb(255, 0, 215)"]],
  ["greys are of the 256, too", `${esc}38;5;232mx${esc}38;5;255my`, ["x|rgb(8, 8, 8)", "y|rgb(238, 238, 238)"]],
  ["any colour", `${esc}38;2;1;31;4mx${esc}0;48;2;1;2;3;33my`, ["x|rgb(1, 31, 4)", "y|ansi-3|rgb(1, 2, 3)"]],
  ["what is behind the text, and a line under it", `${esc}4;41mx${esc}49my${esc}24mz`, ["x|back-1 under", "y|under", "z"]],
  ["a colour that is not whole is none", `${esc}38;5mx${esc}38my`, ["x", "y"]],
  ["a reset after the line's end leaves no mark", `${esc}33mx\n${esc}0m`, ["x|ansi-3"]],
  ["what moves the cursor, and links, are left out", `${esc}2K${esc}1Ga${esc}?25l\u001b]8;;http://x\u0007b\u001b]8;;\u0007`, ["ab"]],
  ["control characters are made visible", "a\u0007b", ["a␇b"]],
  ["an empty line has no parts", "\n", []],
])("%s", (_, line, expected) => {
  expect(brief(line)).toEqual(expected);
});

test("what is searched for is found over colours", () => {
  expect(brief(`${esc}32mgo${esc}0ming on`, "going")).toEqual(["go|ansi-2|found", "ing|found", " on"]);
  expect(brief("a b a", "a")).toEqual(["a|found", " b ", "a|found"]);
});

test.each([
  ["plain\n", "plain"],
  ["\u001b[1;31merror\u001b[0m: \u0000\r\n", "error: ␀"],
  ["\u001b[31mred\u001b[0m", "red"],
  ["a\u0000b\u0007", "a␀b␇"],
  ["50%\r100%", "50%␍100%"],
  ["tab\tstays", "tab\tstays"],
])("the text alone of %j is %j", (text, expected) => {
  expect(printable(text)).toBe(expected);
});
