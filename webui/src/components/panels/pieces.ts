/** Moving the panels of a Markdown text about: what stands between them stays where it is. Pure. */

/** A part of the text as it is written: a panel, or something else. */
export interface Piece {
  readonly raw: string;
  readonly isPanel: boolean;
}

const places = (pieces: readonly Piece[]): number[] => pieces.flatMap(({ isPanel }, at) => (isPanel ? [at] : []));

/** The pieces as one text: a blank line on both sides of a panel, all else as it is written. */
function joined(pieces: readonly Piece[]): string {
  let text = "";
  let beside = false;
  for (const { raw, isPanel } of pieces) {
    if (raw.trim() === "" && beside) continue;
    if (text !== "" && (isPanel || beside)) text = `${text.trimEnd()}\n\n`;
    text += isPanel ? raw.trim() : raw;
    beside = isPanel;
  }
  return `${text.trimEnd()}\n`;
}

/** The text with another panel in the place of the `nth`, counted from 0. */
export function withPanel(pieces: readonly Piece[], nth: number, block: string): string {
  const place = places(pieces)[nth];
  return joined(pieces.map((piece, at) => (at === place ? { ...piece, raw: block } : piece)));
}

export function withoutPanel(pieces: readonly Piece[], nth: number): string {
  const place = places(pieces)[nth];
  return joined(pieces.filter((_, at) => at !== place));
}

/** The text with the panel `from` at the place that the panel `to` has, as in a list that is sorted by dragging. */
export function movedPanel(pieces: readonly Piece[], from: number, to: number): string {
  const all = places(pieces);
  const [source, target] = [all[from], all[to]];
  const moved = pieces[source ?? -1];
  if (source === undefined || target === undefined || moved === undefined || from === to) return joined(pieces);
  const rest = pieces.filter((_, at) => at !== source);
  // Those behind it have moved up by one: at its new place is the one that it pushes on, or the end of the last one.
  return joined([...rest.slice(0, target), moved, ...rest.slice(target)]);
}

/** The text with a panel behind its last one, or at its end. */
export function withNewPanel(pieces: readonly Piece[], block: string): string {
  const last = places(pieces).at(-1) ?? pieces.length - 1;
  return joined([...pieces.slice(0, last + 1), { raw: block, isPanel: true }, ...pieces.slice(last + 1)]);
}
