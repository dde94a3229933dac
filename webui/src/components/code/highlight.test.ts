import { expect, test } from "vitest";
import { pieces } from "./highlight";
import { languageOf } from "./languages";

test.each([["model_def.py", "python"], ["const.yaml", "yaml"], ["a/b.HPP", "cpp"], ["pyproject.toml", "ini"], ["README", undefined], ["a.bin", undefined]])("%s is %s", (path, language) => {
  expect(languageOf(path)).toBe(language);
});

test("pieces are all of the text, and say what they are", () => {
  const text = 'def f(x):\n    return "<b>"  # why\n';
  const made = pieces(text, "python");
  expect(made.map((piece) => piece.text).join("")).toBe(text);
  const kind = (part: string) => made.find((piece) => piece.text === part)?.kind;
  expect([kind("def"), kind('"<b>"'), kind("# why")]).toEqual(["keyword", "string", "comment"]);
  expect(pieces("x".repeat(300_001), "python")).toHaveLength(1);
});
