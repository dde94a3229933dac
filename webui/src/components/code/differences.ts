/** What differs between two texts, line by line. Pure. */

import { diffLines } from "diff";

export interface DiffLine {
  /** "+" only in the second, "-" only in the first, " " in both; "…": lines in both that are left out. */
  readonly mark: "+" | "-" | " " | "…";
  readonly text: string;
}

/** The lines that differ, with `around` lines before and after them; empty: the texts are the same. */
export function diffOf(before: string, after: string, around = 3): readonly DiffLine[] {
  const all: DiffLine[] = diffLines(before, after).flatMap(({ value, added, removed }) => {
    const mark = added ? "+" : removed ? "-" : " ";
    return value.replace(/\n$/, "").split("\n").map((text): DiffLine => ({ mark, text }));
  });
  const near = all.map(({ mark }, at) => mark !== " " || all.slice(Math.max(0, at - around), at + around + 1).some((line) => line.mark !== " "));
  const shown: DiffLine[] = [];
  let left = 0;
  const close = () => {
    if (left > 0) shown.push({ mark: "…", text: `${left} ${left === 1 ? "line" : "lines"}` });
    left = 0;
  };
  all.forEach((line, at) => {
    if (near[at]) {
      close();
      shown.push(line);
    } else left += 1;
  });
  if (shown.length === 0) return [];
  close();
  return shown;
}

export interface FileDifference {
  readonly path: string;
  readonly change: "added" | "removed" | "changed";
}

interface File {
  readonly path: string;
  readonly content: Uint8Array;
}

const same = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, at) => byte === b[at]);

/** The files that are not the same in both, by path. */
export function fileDifferences(before: readonly File[], after: readonly File[]): FileDifference[] {
  const [old, now] = [new Map(before.map((file) => [file.path, file])), new Map(after.map((file) => [file.path, file]))];
  return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((path): FileDifference[] => {
    const [a, b] = [old.get(path), now.get(path)];
    if (a === undefined) return [{ path, change: "added" }];
    if (b === undefined) return [{ path, change: "removed" }];
    return same(a.content, b.content) ? [] : [{ path, change: "changed" }];
  });
}
