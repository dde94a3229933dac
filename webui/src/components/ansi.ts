/** Text that programs coloured for a terminal, as parts that a page can colour. Pure. */

import { marked } from "./log_window";

export interface Part {
  readonly text: string;
  /** Of the style sheet: "ansi-1", "ansi-12 strong"; empty: as the rest of the line. */
  readonly style: string;
  /** It is what is searched for. */
  readonly found: boolean;
}

interface State {
  readonly colour: number | undefined;
  readonly bold: boolean;
}

const plain: State = { colour: undefined, bold: false };
const sequence = /\u001b\[([0-9;:]*)m/g;
// What moves the cursor, sets a title or links: nothing to show.
const silent = /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-ln-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()][0-9A-B])/g;

/** What one "select graphic rendition" makes of a state: the 16 colours and bold count, others are passed over. */
function after(state: State, codes: readonly number[]): State {
  let { colour, bold } = state;
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    if (code === 0) [colour, bold] = [undefined, false];
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code >= 30 && code <= 37) colour = code - 30;
    else if (code >= 90 && code <= 97) colour = code - 82;
    else if (code === 39) colour = undefined;
    else if (code === 38 || code === 48) {
      // 5;n is one of 256, the first 16 of which are those; 2;r;g;b is any.
      const one = codes[i + 1] === 5;
      const n = codes[i + 2] ?? 16;
      if (code === 38) colour = one && n < 16 ? n : undefined;
      i += one ? 2 : 4;
    }
  }
  return { colour, bold };
}

const styleOf = ({ colour, bold }: State) => [colour === undefined ? "" : `ansi-${colour}`, bold ? "strong" : ""].filter((name) => name !== "").join(" ");

/** Control characters made visible, the line's end left out. */
export const visibleText = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (c) => (c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0))));

const withoutEnd = (text: string) => text.replace(silent, "").replace(/[\r\n]+((?:\u001b\[[0-9;:]*m)*)$/, "$1");

/** A line's text alone. */
export const printable = (text: string): string => visibleText(withoutEnd(text).replace(sequence, ""));

/** A line in its colours, with what is searched for, which may have several. */
export function coloured(line: string, searched: string): Part[] {
  const text = withoutEnd(line);
  const runs: { text: string; style: string }[] = [];
  let [at, state] = [0, plain];
  for (const match of text.matchAll(sequence)) {
    runs.push({ text: visibleText(text.slice(at, match.index)), style: styleOf(state) });
    state = after(state, (match[1] ?? "").split(/[;:]/).map(Number));
    at = match.index + match[0].length;
  }
  runs.push({ text: visibleText(text.slice(at)), style: styleOf(state) });

  const parts: Part[] = [];
  let [run, used] = [0, 0];
  marked(runs.map((one) => one.text).join(""), searched).forEach((piece, index) => {
    for (let left = piece; left !== "" && run < runs.length; ) {
      const here = runs[run] ?? { text: "", style: "" };
      const taken = left.slice(0, here.text.length - used);
      if (taken !== "") parts.push({ text: taken, style: here.style, found: index % 2 === 1 });
      left = left.slice(taken.length);
      used += taken.length;
      if (used >= here.text.length) [run, used] = [run + 1, 0];
    }
  });
  return parts;
}
