/** Texts that have to fit into a picture. Pure. */

/** About how wide a letter of a picture is, in its 11 pixels. */
const letter = 6.6;

export const widthOf = (text: string): number => Math.ceil(text.length * letter);

/** The text, or as much of it as has room, with a mark that it goes on. */
export function clipped(text: string, room: number): string {
  const letters = Math.max(2, Math.floor(room / letter));
  return text.length <= letters ? text : `${text.slice(0, letters - 1)}…`;
}

/** Every how many texts one may stand, where each has so much room of its own and needs at least `least`. */
export const every = (roomOfOne: number, least: number): number => Math.max(1, Math.ceil(least / Math.max(1, roomOfOne)));
