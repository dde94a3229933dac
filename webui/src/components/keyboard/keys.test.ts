import { expect, test } from "vitest";
import { actionOf, explained, type Place } from "./keys";

const pressed = (text: string) => {
  const parts = text.split("+");
  return {
    key: parts.at(-1) ?? "",
    ctrlKey: parts.includes("Ctrl"),
    metaKey: parts.includes("Meta"),
    altKey: parts.includes("Alt"),
  };
};

test.each<[key: string, place: Place, singleKeys: boolean, action: string | undefined]>([
  ["Ctrl+k", "page", true, "commands"],
  ["Meta+k", "page", true, "commands"],
  ["Meta+K", "page", true, "commands"],
  ["Ctrl+k", "field", true, "commands"],
  ["Ctrl+k", "page", false, "commands"],
  ["Ctrl+k", "terminal", true, undefined],
  ["Ctrl+k", "dialog", true, undefined],
  ["Ctrl+Meta+k", "page", true, undefined],
  ["Ctrl+Alt+k", "page", true, undefined],
  ["Ctrl+j", "page", true, undefined],
  ["j", "page", true, "next"],
  ["k", "page", true, "previous"],
  ["x", "page", true, "select"],
  ["/", "page", true, "search"],
  ["?", "page", true, "help"],
  ["j", "page", false, undefined],
  ["j", "field", true, undefined],
  ["j", "dialog", true, undefined],
  ["x", "terminal", true, undefined],
  ["Alt+x", "page", true, undefined],
  ["q", "page", true, undefined],
  ["toString", "page", true, undefined],
])("%s in a %s, single keys %s: %s", (key, place, singleKeys, action) => {
  expect(actionOf(pressed(key), place, singleKeys)).toBe(action);
});

test("every single key is explained", () => {
  const texts = explained.map(([keys]) => keys).join(" ");
  for (const key of ["/", "j", "k", "x", "?"]) expect(texts).toContain(key);
});
