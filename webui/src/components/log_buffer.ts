/**
 * The newest lines of a log, in blocks: a block that is full never changes, so
 * the page draws only the last one again. Memory is bounded.
 */
export interface LogBuffer {
  readonly blocks: readonly LogBlock[];
  readonly dropped: number;
}

export interface LogBlock {
  readonly id: number;
  readonly lines: readonly string[];
}

export const blockLines = 200;
export const linesMax = 20_000;

export const emptyLog: LogBuffer = { blocks: [], dropped: 0 };

export function append(buffer: LogBuffer, lines: readonly string[]): LogBuffer {
  const blocks = [...buffer.blocks];
  let rest = lines;
  let nextId = (blocks.at(-1)?.id ?? -1) + 1;
  while (rest.length > 0) {
    const last = blocks.at(-1);
    if (last !== undefined && last.lines.length < blockLines) {
      const taken = rest.slice(0, blockLines - last.lines.length);
      blocks[blocks.length - 1] = { id: last.id, lines: [...last.lines, ...taken] };
      rest = rest.slice(taken.length);
    } else {
      blocks.push({ id: nextId, lines: rest.slice(0, blockLines) });
      nextId += 1;
      rest = rest.slice(blockLines);
    }
  }
  let dropped = buffer.dropped;
  while (blocks.length > linesMax / blockLines) dropped += blocks.shift()?.lines.length ?? 0;
  return { blocks, dropped };
}
