/** Text that programs coloured for a terminal, as parts that a page can colour. Pure. */

import { marked } from "./log_window";

export interface Part {
  readonly text: string;
  /** Of the style sheet: "ansi-1", "ansi-12 strong", "back-4 under"; empty: as the rest of the line. */
  readonly style: string;
  /** A colour, and one behind the text, that are none of the 16. */
  readonly colour?: string;
  readonly back?: string;
  /** It is what is searched for. */
  readonly found: boolean;
}

/** One of the 16 colours of a style sheet, or any other as CSS has it. */
type Colour = number | string | undefined;

interface State {
  readonly colour: Colour;
  readonly back: Colour;
  readonly bold: boolean;
  readonly under: boolean;
}

const plain: State = { colour: undefined, back: undefined, bold: false, under: false };
const sequence = /\u001b\[([0-9;:]*)m/g;
// What moves the cursor, sets a title or links: nothing to show.
const silent = /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-ln-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()][0-9A-B])/g;

/** A colour of the 256: 16 of the style sheet, a cube of 6 by 6 by 6, and 24 greys. */
export function colourOf256(n: number): Colour {
  if (n < 16) return n;
  if (n > 255) return undefined;
  const grey = 8 + 10 * (n - 232);
  if (n >= 232) return `rgb(${grey}, ${grey}, ${grey})`;
  const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
  return `rgb(${[36, 6, 1].map((unit) => level(Math.floor((n - 16) / unit) % 6)).join(", ")})`;
}

/** What follows 38 or 48: 5;n is one of 256; 2;r;g;b is any. */
function anyColour(codes: readonly number[]): { readonly colour: Colour; readonly used: number } {
  const [kind, ...values] = codes;
  if (kind === 5) return { colour: colourOf256(values[0] ?? 256), used: 2 };
  const [r, g, b] = values;
  return { colour: kind === 2 && b !== undefined ? `rgb(${r}, ${g}, ${b})` : undefined, used: 4 };
}

/** What one "select graphic rendition" makes of a state: colours, bold and underlined count, others are passed over. */
function after(state: State, codes: readonly number[]): State {
  let { colour, back, bold, under } = state;
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    if (code === 0) ({ colour, back, bold, under } = plain);
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code === 4) under = true;
    else if (code === 24) under = false;
    else if (code >= 30 && code <= 37) colour = code - 30;
    else if (code >= 90 && code <= 97) colour = code - 82;
    else if (code >= 40 && code <= 47) back = code - 40;
    else if (code >= 100 && code <= 107) back = code - 92;
    else if (code === 39) colour = undefined;
    else if (code === 49) back = undefined;
    else if (code === 38 || code === 48) {
      const any = anyColour(codes.slice(i + 1));
      if (code === 38) colour = any.colour;
      else back = any.colour;
      i += any.used;
    }
  }
  return { colour, back, bold, under };
}

type Look = Omit<Part, "text" | "found">;

function lookOf({ colour, back, bold, under }: State): Look {
  const names = [
    typeof colour === "number" ? `ansi-${colour}` : "",
    typeof back === "number" ? `back-${back}` : "",
    bold ? "strong" : "",
    under ? "under" : "",
  ];
  return {
    style: names.filter((name) => name !== "").join(" "),
    ...(typeof colour === "string" ? { colour } : {}),
    ...(typeof back === "string" ? { back } : {}),
  };
}

/** Control characters made visible, the line's end left out. */
export const visibleText = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (c) => (c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0))));

const withoutEnd = (text: string) => text.replace(silent, "").replace(/[\r\n]+((?:\u001b\[[0-9;:]*m)*)$/, "$1");

/** A line's text alone. */
export const printable = (text: string): string => visibleText(withoutEnd(text).replace(sequence, ""));

/** A line in its colours, with what is searched for, which may have several. */
export function coloured(line: string, searched: string): Part[] {
  const text = withoutEnd(line);
  const runs: (Look & { text: string })[] = [];
  let [at, state] = [0, plain];
  for (const match of text.matchAll(sequence)) {
    runs.push({ text: visibleText(text.slice(at, match.index)), ...lookOf(state) });
    state = after(state, (match[1] ?? "").split(/[;:]/).map(Number));
    at = match.index + match[0].length;
  }
  runs.push({ text: visibleText(text.slice(at)), ...lookOf(state) });

  const parts: Part[] = [];
  let [run, used] = [0, 0];
  marked(runs.map((one) => one.text).join(""), searched).forEach((piece, index) => {
    for (let left = piece; left !== "" && run < runs.length; ) {
      const here = runs[run] ?? { text: "", style: "" };
      const taken = left.slice(0, here.text.length - used);
      if (taken !== "") parts.push({ ...here, text: taken, found: index % 2 === 1 });
      left = left.slice(taken.length);
      used += taken.length;
      if (used >= here.text.length) [run, used] = [run + 1, 0];
    }
  });
  return parts;
}
