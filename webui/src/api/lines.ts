/** Splits what arrives into lines: the streams of the API send one JSON object a line. */
export class LineSplitter {
  private rest = "";

  /** The lines that are complete with `text`. */
  push(text: string): string[] {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    return lines.filter((line) => line !== "");
  }

  /** What came after the last newline. */
  end(): string[] {
    const last = this.rest;
    this.rest = "";
    return last === "" ? [] : [last];
  }
}

/** One line of a stream: an item, or the error that ends it. */
export type StreamLine<T> =
  | { readonly kind: "item"; readonly item: T }
  | { readonly kind: "error"; readonly message: string };

export function readStreamLine<T>(line: string): StreamLine<T> {
  const parsed: unknown = JSON.parse(line);
  if (typeof parsed === "object" && parsed !== null) {
    if ("result" in parsed) return { kind: "item", item: parsed.result as T };
    return { kind: "error", message: errorText(parsed) ?? line };
  }
  return { kind: "error", message: line };
}

/** The sentence inside an error reply, in any of the forms that the API has. */
export function errorText(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  if ("message" in body && typeof body.message === "string") return body.message;
  if (!("error" in body)) return undefined;
  const inner = body.error;
  if (typeof inner === "string") return inner;
  if (typeof inner !== "object" || inner === null) return undefined;
  if ("message" in inner && typeof inner.message === "string") return inner.message;
  if ("error" in inner && typeof inner.error === "string") return inner.error;
  return undefined;
}
