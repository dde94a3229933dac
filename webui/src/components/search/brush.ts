/** Parts of axes to which a picture of many trials is narrowed down. Pure. */

/** Of an axis, from 0 (below) to 1. */
export interface Brush {
  readonly from: number;
  readonly to: number;
}

/** By the name of the axis. */
export type Brushes = ReadonlyMap<string, Brush>;

/** What a click without dragging selects, on both sides. */
const click = 0.05;

const clamped = (part: number) => Math.min(1, Math.max(0, part));
const brief = (part: number) => Number(part.toFixed(3));

/** From where the pointer went down to where it is now. */
export function brushOf(start: number, end: number): Brush {
  const [from, to] = [Math.min(start, end), Math.max(start, end)];
  return to - from < click / 2 ? { from: brief(clamped(from - click)), to: brief(clamped(to + click)) } : { from: brief(clamped(from)), to: brief(clamped(to)) };
}

/** As the address has them: "lr 0.1 0.5,layers 0 0.25". */
export const brushText = (brushes: Brushes): string => [...brushes].map(([name, { from, to }]) => `${encodeURIComponent(name)} ${from} ${to}`).join(",");

/** What cannot be read selects nothing. */
export function parseBrushes(text: string): Brushes {
  const brushes = new Map<string, Brush>();
  for (const one of text.split(",")) {
    const [name = "", from, to] = one.split(" ");
    const [low, high] = [Number(from), Number(to)];
    if (from === undefined || to === undefined || !(low >= 0 && low <= high && high <= 1)) continue;
    try {
      brushes.set(decodeURIComponent(name), { from: low, to: high });
    } catch {
      // not encoded as an address is
    }
  }
  return brushes;
}

/** Whether a trial is in all parts; one without a value is in none. `parts`: where it is on each axis. */
export const isWithin = (brushes: Brushes, parts: ReadonlyMap<string, number | undefined>): boolean =>
  [...brushes].every(([name, { from, to }]) => {
    if (!parts.has(name)) return true; // there is no such axis
    const part = parts.get(name);
    return part !== undefined && part >= from && part <= to;
  });
