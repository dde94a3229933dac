/** What a page and a shell's process say to each other: python/determined/exec/shell.py. Pure. */

/** How much output may be under way that is not on the screen yet: Ctrl-C waits no longer than for this. */
export const windowBytes = 128 * 1024;
/** Taken output is told in lots, not with each piece. */
export const lotBytes = 32 * 1024;
/** A message may have 1 MiB. */
const pieceBytes = 64 * 1024;

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export type Heard =
  | { readonly kind: "output"; readonly bytes: Uint8Array }
  | { readonly kind: "exit"; readonly status: number }
  | { readonly kind: "nothing" };

/** What the first message asks for. */
export const greeting = ({ columns, rows }: Size): string =>
  JSON.stringify({ tty: true, columns, rows, term: "xterm-256color", window: windowBytes });

/** Input as messages of a size that is taken: what is pasted may be large. */
export function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** Characters as xterm.js has bytes: one each, of 0 to 255. */
export const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff);

/** Bytes begin with the channel they come from; a terminal has but one. Text is an object. */
export function hear(message: string | ArrayBuffer): Heard {
  if (typeof message !== "string") return { kind: "output", bytes: new Uint8Array(message).subarray(1) };
  try {
    const said: unknown = JSON.parse(message);
    if (typeof said === "object" && said !== null && "exit" in said && typeof said.exit === "number") return { kind: "exit", status: said.exit };
  } catch {
    // Not for us: a newer shell may say more.
  }
  return { kind: "nothing" };
}

/** Where a terminal of the shell is reached, given the page's own address; the service's own address is its SSH server's. */
export const webSocketAddress = (service: string, page: string): string => new URL("terminal", new URL(service, page)).href.replace(/^http/, "ws");
