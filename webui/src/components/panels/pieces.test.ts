import { lexer } from "marked";
import { expect, test } from "vitest";
import { chartView } from "../charts/view";
import { blockText, panelOf } from "./block";
import { movedPanel, type Piece, withNewPanel, withoutPanel, withPanel } from "./pieces";

const panel = (trial: number): string => blockText(panelOf([trial], chartView({})));
const piecesOf = (text: string): Piece[] => lexer(text).map((token) => ({ raw: token.raw, isPanel: token.type === "code" && token.lang === "chart" }));
/** The panels and the words of a text, in their order. */
const read = (text: string): string => piecesOf(text).flatMap(({ raw, isPanel }) => (isPanel ? [/trials: (\d+)/.exec(raw)?.[1] ?? "?"] : raw.trim() === "" ? [] : [raw.trim()])).join(" ");

const text = `# Title\n\n${panel(1)}\n${panel(2)}\nwords\n\n${panel(3)}`;

test("the parts of a text are the text", () => {
  expect(piecesOf(text).map(({ raw }) => raw).join("")).toBe(text);
  expect(read(text)).toBe("# Title 1 2 words 3");
});

test.each([
  [0, 1, "# Title 2 1 words 3"],
  [1, 0, "# Title 2 1 words 3"],
  [0, 2, "# Title 2 words 3 1"],
  [2, 0, "# Title 3 1 2 words"],
  [2, 1, "# Title 1 3 2 words"],
  [1, 1, "# Title 1 2 words 3"],
  [0, 9, "# Title 1 2 words 3"],
])("panel %d takes the place of panel %d: %s", (from, to, order) => {
  expect(read(movedPanel(piecesOf(text), from, to))).toBe(order);
});

test("panels are replaced, removed and added, and nothing else changes", () => {
  expect(read(withPanel(piecesOf(text), 1, panel(7)))).toBe("# Title 1 7 words 3");
  expect(read(withoutPanel(piecesOf(text), 0))).toBe("# Title 2 words 3");
  expect(read(withNewPanel(piecesOf(text), panel(4)))).toBe("# Title 1 2 words 3 4");
  expect(read(withNewPanel(piecesOf("only words"), panel(4)))).toBe("only words 4");
  expect(withNewPanel([], panel(4))).toBe(panel(4));
  expect(withNewPanel(piecesOf(panel(1)), panel(2))).toBe(`${panel(1)}\n${panel(2)}`);
});

test("moving panels about any number of times leaves the words as they are", () => {
  let now = text;
  for (let i = 0; i < 200; i += 1) now = movedPanel(piecesOf(now), i % 3, (i * 7 + 1) % 3);
  expect(read(now).split(" ").sort()).toEqual(read(text).split(" ").sort());
  expect(now).toHaveLength(text.length);
});
