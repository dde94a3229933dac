/** Which key does what on every page. Pure. */

export type Action = "commands" | "help" | "search" | "next" | "previous" | "select";

export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Where the key was pressed: where text is typed, or where a key means what a program in a terminal says. */
export type Place = "page" | "field" | "dialog" | "terminal";

const single: Readonly<Record<string, Action>> = {
  "?": "help",
  "/": "search",
  j: "next",
  k: "previous",
  x: "select",
};

/** What a key asks for; nothing: it is the browser's. `singleKeys`: keys without Ctrl may be switched off. */
export function actionOf({ key, ctrlKey, metaKey, altKey }: Key, place: Place, singleKeys: boolean): Action | undefined {
  if (place === "terminal" || place === "dialog" || altKey) return undefined;
  if (ctrlKey !== metaKey) return key.toLowerCase() === "k" ? "commands" : undefined;
  if (ctrlKey || place === "field" || !singleKeys) return undefined;
  return Object.hasOwn(single, key) ? single[key] : undefined;
}

/** For the list of keys. */
export const explained: readonly (readonly [keys: string, meaning: string])[] = [
  ["Ctrl K or ⌘ K", "Go to a page, an experiment or a trial, or run a command"],
  ["/", "Search in the list"],
  ["j, k", "Go to the next or the previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["?", "Show this list"],
];
