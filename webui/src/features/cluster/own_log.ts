/** The newest lines of the master's own log, read piece by piece. Pure. */

export interface OwnLine {
  readonly id: number;
  readonly message: string;
  readonly timestamp: string;
  readonly level: string;
}

export const linesMax = 1000;

/** What to ask for: from the last line that is here on, that one included; at first the newest. */
export const offsetAfter = (lines: readonly OwnLine[]): number => lines.at(-1)?.id ?? -linesMax;

/**
 * The lines with those that were read from `offsetAfter` on. Undefined: what is here does not go on there, because the
 * master has restarted or has dropped it; all is to be read anew.
 */
export function continued(lines: readonly OwnLine[], read: readonly OwnLine[]): readonly OwnLine[] | undefined {
  const last = lines.at(-1);
  if (last === undefined) return read;
  const [first, ...more] = read;
  if (first?.id !== last.id || first.timestamp !== last.timestamp || first.message !== last.message) return undefined;
  return more.length === 0 ? lines : [...lines, ...more].slice(-linesMax);
}
