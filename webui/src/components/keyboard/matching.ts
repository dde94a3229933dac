/** Finds commands by what is typed. Pure. */

export interface Named {
  readonly name: string;
  /** Other words that it is found by. */
  readonly words?: string;
}

/** How well a text has a word: 3 it begins so, 2 one of its words begins so, 1 it is somewhere in it, 0 not at all. */
function quality(text: string, word: string): number {
  if (text.startsWith(word)) return 3;
  if (text.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(word))) return 2;
  return text.includes(word) ? 1 : 0;
}

/** Those that have every typed word, the best first, else in the order in which they are given. */
export function found<T extends Named>(commands: readonly T[], typed: string): readonly T[] {
  const words = typed.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const scored = commands.map((command, place) => {
    const text = command.name.toLowerCase();
    const more = (command.words ?? "").toLowerCase();
    const each = words.map((word) => Math.max(quality(text, word), Math.min(1, quality(more, word))));
    return { command, place, score: each.includes(0) ? -1 : each.reduce((sum, one) => sum + one, 0) };
  });
  return scored
    .filter(({ score }) => score >= 0)
    .toSorted((a, b) => b.score - a.score || a.place - b.place)
    .map(({ command }) => command);
}

/** The number that is typed, as "12" or "#12"; nothing else counts. */
export function numberIn(typed: string): number | undefined {
  const digits = /^\s*#?(\d{1,15})\s*$/.exec(typed)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
